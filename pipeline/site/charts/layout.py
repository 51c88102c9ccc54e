"""Two sizes of every chart, records for its marks, and axes that say their unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from pipeline.schemas.question import ChartSpec, Style
from pipeline.schemas.words import MEASURED_LANES
from pipeline.site.charts.palette import MUTED, Hue, hues
from pipeline.site.charts.points import Point, Points, series_label
from pipeline.site.numbers import NBSP, written
from pipeline.site.words import label

D3_FORMATS: dict[Style, str] = {"integer": ",d", "number": ",.3~r", "percent": ".0%", "times": ",.3~r"}


WHOLE = 0.6
"""Shares above this are drawn against the whole."""


@dataclass(frozen=True)
class Layout:
    """A drawing's size in pixels; text keeps its size, so a phone gets a drawing of its own."""

    name: str
    width: int
    height: int
    size: int
    columns: int


WIDE = Layout("wide", width=640, height=270, size=13, columns=2)
NARROW = Layout("narrow", width=344, height=240, size=12, columns=1)
LAYOUTS = (WIDE, NARROW)


def tick_labels(style: Style) -> dict[str, Any]:
    """Axis options that write values as the page does."""
    ticks: dict[str, Any] = {"format": D3_FORMATS[style]}
    return ticks | {"labelExpr": "datum.label + '×'"} if style == "times" else ticks


def inline(rows: list[dict[str, Any]]) -> alt.InlineData:
    """A few records that only one layer needs."""
    return alt.InlineData(values=rows)


def records(spec: ChartSpec, points: Points) -> list[dict[str, Any]]:
    """One record for each point, with every text already written as the page writes it."""
    colours = hues(points.series)
    known = ((point, point.value.span) for point in points.points)
    return [_record(spec, point, span, colours[point.series]) for point, span in known if span]


def top_of(rows: list[dict[str, Any]], spec: ChartSpec) -> float:
    """Upper end of a measured axis that starts at zero; a large share ends at 1."""
    highest = max((max(row["high"], row["band_high"]) for row in rows), default=0.0)
    if spec.reference:
        highest = max(highest, spec.reference.value)
    if spec.measured.format == "percent" and WHOLE < highest <= 1:
        return 1.0
    return highest * 1.04 if highest > 0 else 1.0


def text_width(text: str, size: int) -> int:
    """Pixels a text takes in a system font, on the safe side."""
    return round(len(text) * size * 0.53)


def tooltips(spec: ChartSpec) -> list[alt.Tooltip]:
    """What the live chart says under the pointer."""
    shown = [alt.Tooltip("label:N", title=" ")]
    shown += [alt.Tooltip("x_text:N", title=spec.x.title)] if spec.kind in ("line", "grid") else []
    shown += [alt.Tooltip("y_text:N", title=spec.y.title)] if spec.kind == "grid" and spec.y else []
    shown.append(alt.Tooltip("text:N", title=spec.measured.title))
    if spec.lane not in MEASURED_LANES:
        return [*shown, alt.Tooltip("interval:N", title="interval")]
    return [
        *shown,
        alt.Tooltip("interval:N", title="smallest to largest"),
        alt.Tooltip("n:Q", title="repeats"),
    ]


def reference_layers(spec: ChartSpec, *, across: bool) -> list[Any]:
    """The line to compare with and its words; none where the chart has none.

    Args:
        spec: the chart.
        across: the measured axis is horizontal, so the line stands upright.
    """
    if spec.reference is None:
        return []
    row = inline([{"at": spec.reference.value, "words": spec.reference.label}])
    bare = alt.Chart(row)
    base = bare.encode(x=alt.X("at:Q")) if across else bare.encode(y=alt.Y("at:Q"))
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=MUTED)
    place: dict[str, Any] = (
        {"y": 0, "align": "left", "dx": 4, "dy": -6, "baseline": "bottom"}
        if across
        else {"x": 4, "align": "left", "dy": -5, "baseline": "bottom"}
    )
    return [rule, base.mark_text(color=MUTED, **place).encode(text="words:N")]


def _record(spec: ChartSpec, point: Point, span: tuple[float, float, float], hue: Hue) -> dict[str, Any]:
    axis, (low, value, high) = spec.measured, span
    band, full = point.band or 0.0, value <= 1 and axis.format == "percent"
    return {
        "label": series_label(point.series, spec.series),
        "panel": label(point.panel),
        "x": point.x,
        "x_text": "" if point.x is None else written(point.x, spec.x.format, spec.x.unit),
        "y": point.y,
        "y_text": "" if point.y is None or spec.y is None else written(point.y, spec.y.format, spec.y.unit),
        "value": value,
        "low": low,
        "high": high,
        "band_low": max(value - band, 0.0),
        "band_high": min(value + band, 1.0) if full else value + band,
        "text": written(value, axis.format).replace(f"{NBSP}%", "%"),
        "interval": point.value.interval(axis.format, axis.unit),
        "n": point.value.n,
        "mark": hue.mark,
        "ink": hue.text,
    }
