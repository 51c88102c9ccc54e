"""What must not stand on a page: HTML in a field, scripts in the text, one name for two things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline.site.frontmatter import PageSource
from pipeline.site.problems import Problem

_TAG = re.compile(r"<\s*/?\s*[a-zA-Z!][^<>]*>")
_ACTIVE = re.compile(
    r"<\s*/?\s*(?:script|style|iframe|object|embed|form|link|meta|base)\b|javascript:|<[^>]*\son\w+\s*=", re.I
)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_FREE = frozenset({"sql"})
"""Fields in which `<` is a comparison."""


def check_foreign(source: PageSource) -> Iterator[Problem]:
    """HTML in the front matter, and elements in the text that act on their own."""
    for keys, text in _texts(source.question.model_dump(mode="json"), ()):
        if match := _TAG.search(text):
            message = f"field {'.'.join(keys)} holds HTML ({match[0]}): fields are plain words"
            yield Problem(source.name, source.line_of(*keys), message)
    yield from active_elements(source.name, source.body, source.body_line)


def active_elements(name: str, body: str, first: int) -> Iterator[Problem]:
    """Scripts, frames and event handlers in the text of a page; code that is shown is left alone."""
    shown = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), body)
    for match in _ACTIVE.finditer(shown):
        line = first + shown.count("\n", 0, match.start())
        yield Problem(name, line, f"{match[0].strip()!r} may not stand on a page: pages are words and macros")


def check_names(source: PageSource) -> Iterator[Problem]:
    """A fact and a line of one name: {name} would mean both."""
    for name in source.question.facts:
        if name in source.question.calcs:
            yield Problem(source.name, source.line_of("calcs", name), f"{name!r} names a fact and a calc")


def _texts(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield keys, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key not in _FREE:
            yield from _texts(inner, (*keys, str(key)))
