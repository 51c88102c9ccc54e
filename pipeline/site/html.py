"""Small pieces of HTML: escaping, tables that line up on the decimal point, dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape

FIGURE_SPACE, PUNCTUATION_SPACE = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"


def attribute(text: str) -> str:
    """Text safe between double quotes."""
    return escape(text, quote=True)


def day(when: date | None) -> str:
    """`30 Nov 2026`, or `not recorded`."""
    return f"{when.day} {when:%b %Y}" if when else "not recorded"


def one_block(html: str) -> str:
    """HTML on one line between blank lines: Markdown leaves it alone and nothing inside can end it."""
    return f"\n\n{' '.join(html.split(chr(10)))}\n\n"


def aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the right so that right-aligned cells line up on their decimal points."""
    depth = max((len(_fraction(text)) for text in texts), default=0)
    return [text + _pad(depth - len(_fraction(text)), text) for text in texts]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A plain table; cells are HTML. Columns in `numeric` are right aligned."""
    head = "".join(f"<th{_side(i, numeric)}>{text}</th>" for i, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{_side(i, numeric)}>{cell}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wb-scroll" tabindex="0" role="group"><table class="wb-table">{inner}</table></div>'


def _side(column: int, numeric: Sequence[int]) -> str:
    return ' class="num"' if column in numeric else ""


def _fraction(text: str) -> str:
    digits = "".join(char for char in text if char.isdigit() or char == ".")
    return digits.partition(".")[2]


def _pad(lack: int, text: str) -> str:
    if lack <= 0 or not any(char.isdigit() for char in text):
        return ""
    return ("" if "." in text else PUNCTUATION_SPACE) + FIGURE_SPACE * lack
