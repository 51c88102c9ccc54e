"""Grids: what wins at each combination of two quantities, so that a boundary can be seen."""

from __future__ import annotations

from typing import Any

import altair as alt

from pipeline.schemas.question import Axis, ChartSpec
from pipeline.site.charts.layout import Layout, inline, text_width, tooltips
from pipeline.site.charts.palette import MUTED
from pipeline.site.charts.points import axis_title
from pipeline.site.numbers import written

Record = dict[str, Any]
PADDING = {"left": 8, "top": 4, "bottom": 4, "right": 10}
CELLS = "points"
ROW = 30
"""Pixels of one row of cells."""
LEGEND_ROW = 20
SIDE = 64
"""Pixels for the labels of the upright axis."""


def grid_chart(spec: ChartSpec, rows: list[Record], layout: Layout) -> dict[str, Any]:
    """A Vega-Lite specification without its look; cells are coloured by series, `cell` is written in them."""
    assert spec.y is not None  # noqa: S101  (the schema demands it)
    columns = sorted({row["x"] for row in rows})
    width = layout.width - SIDE
    base = alt.Chart(alt.NamedData(name=CELLS)).encode(
        x=_ordinal("x", spec.x, rows, layout, width // max(1, len(columns))),
        y=_ordinal("y", spec.y, rows, layout, None),
    )
    cell = base.mark_rect(cornerRadius=2, opacity=0.3).encode(
        color=alt.Color("mark:N", scale=None), tooltip=tooltips(spec)
    )
    text = base.mark_text().encode(text="text:N", color=alt.Color("ink:N", scale=None))
    fits = max(text_width(row["text"], layout.size) for row in rows) + 4 <= width / max(1, len(columns))
    height = ROW * len({row["y"] for row in rows})
    body = alt.layer(cell, text) if fits else alt.layer(cell)
    drawn = alt.vconcat(_legend(rows, layout), body.properties(width=width, height=height), spacing=6).to_dict()
    return drawn | {"padding": PADDING, "datasets": drawn.get("datasets", {}) | {CELLS: rows}}


def _ordinal(field: str, axis: Axis, rows: list[Record], layout: Layout, room: int | None) -> Any:
    """Cells of equal size; the axis writes each value as the page does, or every other one where room is short."""
    places = sorted({row[field] for row in rows}, reverse=field == "y")
    texts = {place: written(place, axis.format) for place in places}
    widest = max(text_width(text, layout.size) for text in texts.values())
    every = 1 if room is None else max(1, -(-(widest + 6) // max(1, room)))
    shown = {place: text if i % every == 0 else "" for i, (place, text) in enumerate(texts.items())}
    lookup = "{" + ", ".join(f"'{_js(place)}': '{text}'" for place, text in shown.items()) + "}"
    expression = f"({lookup})[toString(datum.value)]"
    look = alt.Axis(
        title=axis_title(axis), labelExpr=expression, labelAngle=0, domain=False, ticks=False, grid=False,
        labelOverlap=False,
    )
    channel = alt.X if field == "x" else alt.Y
    return channel(f"{field}:O", sort=places, axis=look, scale=alt.Scale(paddingInner=0.06))


def _js(value: float) -> str:
    """A number as JavaScript writes it as text."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _legend(rows: list[Record], layout: Layout) -> Any:
    """Names of the colours, side by side, wrapped where a phone is narrow; a chart needs no other key."""
    names: list[Record] = []
    left = line = 0
    for row in {each["label"]: each for each in rows}.values():
        needed = text_width(row["label"], layout.size) + 38
        if left and left + needed > layout.width:
            left, line = 0, line + 1
        names.append({"name": row["label"], "mark": row["mark"], "left": left, "line": line})
        left += needed
    base = alt.Chart(inline(names)).encode(
        x=alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, layout.width])),
        y=alt.Y("line:Q", axis=None, scale=alt.Scale(domain=[line + 0.5, -0.5])),
    )
    box = base.mark_point(shape="square", filled=True, size=150, opacity=0.45, xOffset=8).encode(
        color=alt.Color("mark:N", scale=None)
    )
    words = base.mark_text(align="left", xOffset=20, color=MUTED).encode(text="name:N")
    return alt.layer(box, words).properties(width=layout.width - SIDE, height=LEGEND_ROW * (line + 1))
