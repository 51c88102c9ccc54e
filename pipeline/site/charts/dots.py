"""Dot charts: every row a dot on its name's line, for few independent units that no interval can stand for."""

from __future__ import annotations

from typing import Any

import altair as alt

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.layout import Layout, reference_layers, text_width, tick_labels, tooltips
from pipeline.site.charts.points import axis_title

Record = dict[str, Any]
PADDING = {"left": 14, "top": 18, "bottom": 4, "right": 18}
STEP = 30
"""Pixels from line to line."""
DOTS = "points"


def dot_chart(spec: ChartSpec, rows: list[Record], layout: Layout) -> dict[str, Any]:
    """A Vega-Lite specification without its look; its `x` is the measured axis."""
    names = max(text_width(row["label"], layout.size) for row in rows) + 14
    base = alt.Chart(alt.NamedData(name=DOTS)).encode(
        y=alt.Y("label:N", sort=None, axis=_names(layout)), color=alt.Color("mark:N", scale=None)
    )
    dot = base.mark_point(filled=True, size=70, opacity=0.75).encode(
        x=_x(spec, "value", rows), tooltip=tooltips(spec)
    )
    rule = base.mark_rule(strokeWidth=1.4, opacity=0.6).encode(x=_x(spec, "low", rows), x2="high:Q")
    spread = rule.transform_filter("datum.high > datum.low")
    drawn: dict[str, Any] = (
        alt.layer(spread, dot, *reference_layers(spec, across=True))
        .properties(width=layout.width - min(names, layout.width // 2) - 32, height={"step": STEP})
        .to_dict()
    )
    return drawn | {"padding": PADDING, "datasets": drawn.get("datasets", {}) | {DOTS: rows}}


def _x(spec: ChartSpec, field: str, rows: list[Record]) -> alt.X:
    """Zero need not be on a dot chart's axis: position is read, not length."""
    log = spec.measured.scale == "log"
    ends = [row["low"] for row in rows] + [row["high"] for row in rows]
    ends += [spec.reference.value] if spec.reference else []
    low, high = min(ends), max(ends)
    room = (high - low or abs(high) or 1.0) * 0.06
    domain = [low * 0.93, high * 1.07] if log else [low - room, high + room]
    axis = alt.Axis(
        **tick_labels(spec.measured.format), tickCount=5, domain=False, ticks=False, title=axis_title(spec.measured)
    )
    scale = alt.Scale(type="log" if log else "linear", domain=domain, nice=not log, zero=False)
    return alt.X(f"{field}:Q", axis=axis, scale=scale)


def _names(layout: Layout) -> alt.Axis:
    return alt.Axis(
        title=None, domain=False, ticks=False, grid=True, labelLimit=layout.width // 2, labelPadding=6
    )
