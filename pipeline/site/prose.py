"""Measured numbers typed by hand: a number with a unit, or with a decimal point, outside macros and code.

Dates, versions and code are exempt; so is what people say in a contrast, which is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

UNITS = (
    "ms|µs|us|ns|s|%|×|x|tokens?/s|tok/s|req(?:uests?)?/s|tokens?|requests?|preemptions?|blocks?|hits?|misses"
    "|[KMGT]i?B(?:/s)?|B/s|[kM]?W|W|USD|req"
)
_NUMBER = r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?"
_MEASURED = re.compile(rf"{_NUMBER}[ \u00a0]?(?:{UNITS})(?![\w-])")
_DECIMAL = re.compile(r"(?<![\w.,-])\d[\d,]*\.\d+(?!\.?[\w-])")
_TOOL = re.compile(r"(?:vLLM|vllm|router|AIPerf|TensorRT-LLM|CUDA|Python|mkdocs|Apache|version|release) $")
_MASKS = (
    re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE),
    re.compile(r"\{%-?\s*raw.*?endraw\s*-?%\}", re.DOTALL),
    re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL),
    re.compile(r"(?<=\n\n)(?:(?: {4}|\t)[^\n]*\n)+"),
    re.compile(r"`[^`\n]+`"),
    re.compile(r"\]\([^)\n]*\)"),
    re.compile(r"<[^>]*>"),
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
        text = mask.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def _found(line: str) -> Iterator[str]:
    seen: list[tuple[int, int]] = []
    for pattern in (_MEASURED, _DECIMAL):
        for match in pattern.finditer(line):
            inside = any(start <= match.start() < end for start, end in seen)
            if not inside and not _TOOL.search(line[: match.start()]):
                seen.append(match.span())
                yield match[0]
