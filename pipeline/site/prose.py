"""Measured numbers typed by hand: a number with a unit, or with a decimal point, outside macros and code.

Dates, versions and code are exempt; so is what people say in a contrast, which is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

UNITS = (
    "ms|µs|us|ns|s|%|×|x|tokens?/s|tok/s|req(?:uests?)?/s|tokens?|requests?|preemptions?|blocks?|hits?|misses"
    "|[KMGT]i?B(?:/s)?|[KMGT]bit/s|B/s|[kM]?W|W|k?USD|EUR|req|[GTP]FLOPS?|[GM]Hz|percent|per cent"
    "|milliseconds?|microseconds?|seconds?|minutes?|hours?"
)
_DIGITS = r"\d[\d,]*(?:\.\d+)?"
# A range is one number; the hyphen of a name (`gpt-4 tokens`) makes no number of what follows.
_NUMBER = rf"(?:(?<![\w.,-])|(?<=\s-)|(?<=\(-)){_DIGITS}(?:\s?[-–]\s?{_DIGITS})?"
_MONEY = re.compile(rf"[$€]\s?{_DIGITS}")
_MEASURED = re.compile(rf"{_NUMBER}[ \u00a0]?(?:{UNITS})(?![\w-])")
_DECIMAL = re.compile(r"(?<![\w.,-])\d[\d,]*\.\d+(?!\.?[\w-])")
_TOOL = re.compile(
    r"(?:vLLM|vllm|router|AIPerf|TensorRT-LLM|SGLang|CUDA|PyTorch|torch|Triton|NumPy|Python|mkdocs|Apache|version"
    r"|release|PCIe|NVLink|HBM|Llama|Qwen|Gemma|Mistral|DeepSeek|GLM|Kimi|Phi|AIConfigurator|Dynamo) [vV]?$"
)
_BOARD = re.compile(r"\b(?:[ABHLV]\d{2,3}|GB\d{3}|RTX \d{4})(?:-?SXM\d?|-?PCIe)?[ -]\d+ ?GB\b")
"""A board's name holds its memory: A100 80GB."""
_MASKS = (
    re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE),
    re.compile(r"\{%-?\s*raw.*?endraw\s*-?%\}", re.DOTALL),
    re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL),
    re.compile(r"(?<=\n\n)(?:(?: {4}|\t)[^\n]*\n)+"),
    re.compile(r"`[^`\n]+`"),
    re.compile(r"\]\([^)\n]*\)"),
    _BOARD,
    re.compile(r"\{[^{}\n]*\}"),
)


def typed_numbers(text: str) -> Iterator[tuple[int, str]]:
    """Numbers that look measured.

    Yields:
        Line within the text, from 1, and the number with its unit.
    """
    for number, line in enumerate(masked(text).splitlines(), 1):
        for match in _found(line):
            yield number, match


def masked(text: str) -> str:
    """The text with everything exempt blanked out, line for line."""
    for mask in _MASKS:
        text = mask.sub(lambda match: _blank(match[0]), text)
    return _TAG.sub(_alt_only, text)


_TAG = re.compile(r"<[^>]*>")
_ALT = re.compile(r"""\balt\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)


def _alt_only(tag: re.Match[str]) -> str:
    """A tag blanked out except for its alternative text, which readers hear."""
    blank, kept = _blank(tag[0]), tag[0]
    for alt in _ALT.finditer(kept):
        start, end = alt.span(1)
        blank = blank[: start + 1] + kept[start + 1 : end - 1] + blank[end - 1 :]
    return blank


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _found(line: str) -> Iterator[str]:
    seen: list[tuple[int, int]] = []
    for pattern in (_MEASURED, _MONEY, _DECIMAL):
        for match in pattern.finditer(line):
            inside = any(start <= match.start() < end for start, end in seen)
            if not inside and not _TOOL.search(line[: match.start()]):
                seen.append(match.span())
                yield match[0]
