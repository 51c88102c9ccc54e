"""A green build can hold a broken page: the built HTML is searched for what must never reach a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from pipeline.site.problems import Problem

FORBIDDEN = {
    "{{": re.compile(r"\{\{"),
    "}}": re.compile(r"\}\}"),
    "Macro Rendering Error": re.compile(r"Macro (Rendering|Syntax) Error"),
    "Traceback": re.compile(r"Traceback \(most recent"),
    "nan": re.compile(r"(?<![\w-])nan(?![\w-])", re.IGNORECASE),
    "Undefined": re.compile(r"jinja2\.|Undefined"),
}
NUMBERS = {"wb-fact", "wb-calc", "wb-value", "wb-interval", "wb-n", "wb-mine", "num"}
"""Classes of elements that hold a number and must neither be empty nor say None."""
CODE = {"code", "pre", "script", "style", "svg"}


class _Reader(HTMLParser):
    """Text outside of code with its line, and the text of every element that holds a number."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[int, str]] = []
        self.numbers: list[tuple[int, str]] = []
        self._code = 0
        self._open: list[tuple[str, int, list[str]] | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        self._code += tag in CODE
        classes = set((dict(attrs).get("class") or "").split())
        self._open.append((tag, self.getpos()[0], []) if tag != "th" and classes & NUMBERS else None)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID or not self._open:
            return
        self._code -= tag in CODE
        number = self._open.pop()
        if number is not None:
            self.numbers.append((number[1], "".join(number[2]).strip()))

    def handle_data(self, data: str) -> None:
        if self._code:
            return
        self.texts.append((self.getpos()[0], data))
        for number in self._open:
            if number is not None:
                number[2].append(data)


VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def scan_site(site: Path) -> list[Problem]:
    """Problems in all pages of a built site."""
    return [problem for path in sorted(site.rglob("*.html")) for problem in scan_page(path, site)]


def scan_page(path: Path, site: Path) -> Iterator[Problem]:
    """Problems in one built page."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    name = str(path.relative_to(site))
    for line, text in reader.texts:
        for word, pattern in FORBIDDEN.items():
            if pattern.search(text):
                yield Problem(name, line, f"the page shows {word!r}: {text.strip()[:80]}")
    for line, text in reader.numbers:
        if not text or text == "None" or "None" in text.split():
            yield Problem(name, line, f"a number of the page is {text or 'empty'!r}")
