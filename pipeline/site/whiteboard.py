"""Whiteboard arithmetic, evaluated and shown with units: over facts, given numbers, earlier lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.schemas.question import CalcSpec
from pipeline.site.expression import BadExpression, evaluate, names, shown
from pipeline.site.formulas import FORMULAS
from pipeline.site.html import attribute
from pipeline.site.numbers import NBSP, written
from pipeline.site.words import NO_VALUE

_GIVEN = re.compile(r"^(-?[\d,]*\.?\d+)\s*(.*)$")


@dataclass(frozen=True)
class Quantity:
    """A number with its unit and the HTML that shows it."""

    value: float | None
    unit: str
    html: str


@dataclass(frozen=True)
class Line:
    """One line of a whiteboard, worked out.

    Args:
        title: left of the equals sign.
        arithmetic: the formula with its inputs, HTML.
        result: what it gives.
    """

    title: str
    arithmetic: str
    result: Quantity


def given_quantity(text: str) -> Quantity | None:
    """`150 requests` as a number with its unit; None if the text is no number."""
    match = _GIVEN.match(text.strip())
    if match is None:
        return None
    shown_as = attribute(text.strip()).replace(" ", NBSP)
    return Quantity(
        float(match[1].replace(",", "")), match[2], f'<i class="wb-given" title="given">{shown_as}</i>'
    )


def work_out(spec: CalcSpec, inputs: Mapping[str, Quantity]) -> Line:
    """Evaluate one line; its result is missing where an input is.

    Raises:
        BadExpression: an input is not given, or one is not used.
    """
    known = FORMULAS.get(spec.formula)
    expression = known.expression if known else spec.formula
    _require(spec, names(expression), inputs)
    unit = spec.unit if spec.unit is not None else (known.unit if known else "")
    style = spec.format or (known.style if known else "number")
    values = {name: quantity.value for name, quantity in inputs.items() if quantity.value is not None}
    value = evaluate(expression, values) if len(values) == len(inputs) else None
    arithmetic = shown(expression, {name: quantity.html for name, quantity in inputs.items()})
    title = spec.title or (known.title if known else spec.formula)
    return Line(title, arithmetic, Quantity(value, unit, written(value, style, unit)))


def _require(spec: CalcSpec, needed: list[str], inputs: Mapping[str, Quantity]) -> None:
    if lacking := [name for name in needed if name not in inputs]:
        raise BadExpression(f"{spec.formula!r} needs {', '.join(lacking)}")
    if unused := [name for name in inputs if name not in needed]:
        raise BadExpression(f"{spec.formula!r} does not use {', '.join(unused)}")


def line_html(name: str, line: Line, against: Quantity | None, note: str) -> str:
    """`working set = 12 prefixes × 1,024 tokens = 12,288 tokens  > 8,192 tokens  does not fit`."""
    tail = _compared(line.result, against) + (f' <span class="wb-note">{note}</span>' if note else "")
    return (
        f'<div class="wb-line" id="calc-{name.replace("_", "-")}"><span class="wb-title">{line.title}</span>'
        f"<span>{line.arithmetic} = <b>{line.result.html}</b>{tail}</span></div>"
    )


def inline_html(name: str, line: Line, page: str = "") -> str:
    """The result in prose, linked to its line, which may be on another page."""
    address = f"{page}#calc-{name.replace('_', '-')}"
    return f'<a class="wb-calc" href="{address}" title="calculated">{line.result.html}</a>'


def _compared(result: Quantity, other: Quantity | None) -> str:
    if other is None:
        return ""
    if result.value is None or other.value is None:
        return f' <span class="wb-note">against {other.html or NO_VALUE}</span>'
    sign = "&lt;" if result.value < other.value else "&gt;" if result.value > other.value else "="
    return f' <span class="wb-note">{sign} {other.html}</span>'
