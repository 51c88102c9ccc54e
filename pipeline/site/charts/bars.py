"""Bar charts: a measured quantity for named things, in small multiples, values written at the bars' ends."""

from __future__ import annotations

from typing import Any

import altair as alt

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.layout import Layout, reference_layers, text_width, tick_labels, tooltips, top_of
from pipeline.site.charts.points import axis_title

Record = dict[str, Any]
PADDING = {"left": 14, "top": 4, "bottom": 4, "right": 12}
ONLY = "points"
STEP, BAR = 24, 14
"""Pixels from bar to bar, and of a bar."""


def bar_chart(spec: ChartSpec, rows: list[Record], layout: Layout) -> dict[str, Any]:
    """A Vega-Lite specification without its look; its `x` is the measured axis."""
    names = list(dict.fromkeys(row["panel"] for row in rows))
    columns = min(layout.columns, len(names))
    bottom = set(names[-columns:])
    panels = [
        _panel(spec, name, top_of(rows, spec))
        .properties(title=_title(name, layout), width=_width(rows, layout, columns), height={"step": STEP})
        .encode(x=_x(spec, "value", top_of(rows, spec), titled=name in bottom))
        for name in names
    ]
    drawn = alt.concat(*panels, columns=columns, spacing={"row": 18, "column": 24}).to_dict()
    points = {name or ONLY: [row for row in rows if row["panel"] == name] for name in names}
    return drawn | {"padding": PADDING, "datasets": drawn.get("datasets", {}) | points}


def _panel(spec: ChartSpec, name: str, top: float) -> Any:
    base = alt.Chart(alt.NamedData(name=name or ONLY)).encode(
        y=alt.Y("label:N", sort=None, axis=_names()), color=alt.Color("mark:N", scale=None)
    )
    bar = base.mark_bar(height=BAR, cornerRadiusEnd=2, opacity=0.85).encode(tooltip=tooltips(spec))
    band = base.mark_bar(height=BAR + 6, opacity=0.3).encode(x=_x(spec, "band_low", top), x2="band_high:Q")
    rule = base.mark_rule(strokeWidth=1.8).encode(x=_x(spec, "low", top), x2="high:Q", color=_ink())
    text = base.mark_text(align="left", dx=6).encode(x=_x(spec, "edge", top), text="text:N", color=_ink())
    edged = text.transform_calculate(edge="max(datum.high, datum.band_high)")
    return alt.layer(bar, band, rule, edged, *reference_layers(spec, across=True))


def _width(rows: list[Record], layout: Layout, columns: int) -> int:
    """Plot width of one panel: what is left beside the names and the values written at the bars' ends."""
    names = max(text_width(row["label"], layout.size) for row in rows) + 14
    values = max(text_width(row["text"], layout.size) for row in rows) + 10
    return (layout.width - 24 * (columns - 1)) // columns - names - values


def _x(spec: ChartSpec, field: str, top: float, *, titled: bool = True) -> alt.X:
    axis = alt.Axis(
        **tick_labels(spec.measured.format),
        tickCount=3,
        domain=False,
        ticks=False,
        title=axis_title(spec.measured) if titled else None,
    )
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(domain=[0, top], nice=True))


def _ink() -> alt.Color:
    return alt.Color("ink:N", scale=None)


def _names() -> alt.Axis:
    return alt.Axis(title=None, domain=False, ticks=False, grid=False, labelLimit=220, labelPadding=6)


def _title(name: str, layout: Layout) -> alt.Title:
    return alt.Title(name, anchor="start", frame="group", fontSize=layout.size, fontWeight=600, offset=4)
