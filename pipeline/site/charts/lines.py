"""Line charts: a measured quantity over a knob, with whiskers, noise band and labels at the line's end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.layout import Layout, inline, text_width, tick_labels, tooltips, top_of
from pipeline.site.charts.palette import MUTED
from pipeline.site.charts.points import axis_title

Record = dict[str, Any]
Layer = Any
"""Altair's types do not follow its own chaining."""

FEW = 2
"""Up to this many lines every point carries its value."""
STEEP = 0.08
"""Rise to a neighbour, as a share of the axis, from which a value leans away."""
LOWEST = 0.08
"""Share of the axis below which a value under a point would meet the axis."""
AXIS_WIDTH = 46
POINTS = "points"
PADDING = {"left": 6, "top": 8, "bottom": 4, "right": 24}


@dataclass(frozen=True)
class Frame:
    """What all layers of one line chart share: data, scales, axes."""

    spec: ChartSpec
    rows: list[Record]
    layout: Layout

    @property
    def gutter(self) -> int:
        """Pixels to the right of the plot for the names of the lines."""
        end = max(row["x"] for row in self.rows)
        return max(text_width(row["label"], self.layout.size) for row in self.rows if row["x"] == end) + 14

    @property
    def labels(self) -> list[str]:
        """Names of the lines, in order."""
        return list(dict.fromkeys(row["label"] for row in self.rows))

    @property
    def top(self) -> float:
        """Upper end of the measured axis."""
        return top_of(self.rows, self.spec)

    def layer(self, rows: list[Record] | None = None) -> Layer:
        """A layer over these rows, coloured by line; over all points where none are given."""
        chart = alt.Chart(alt.NamedData(name=POINTS) if rows is None else inline(rows))
        return chart.encode(x=self._x(), color=alt.Color("mark:N", scale=None), detail="label:N")

    def y(self, field: str) -> alt.Y:
        """The measured axis for a field: zero at the foot, its title flat above it, as a phone wants it."""
        axis = alt.Axis(
            **tick_labels(self.spec.measured.format),
            tickCount=5,
            domain=False,
            ticks=False,
            title=axis_title(self.spec.measured),
            titleAngle=0,
            titleAlign="left",
            titleX=-AXIS_WIDTH + 8,
            titleY=-14,
            titleBaseline="bottom",
        )
        return alt.Y(f"{field}:Q", axis=axis, scale=alt.Scale(domain=[0, self.top], nice=True))

    def _x(self) -> alt.X:
        places = sorted({row["x"] for row in self.rows})
        axis = alt.Axis(
            values=places, **tick_labels(self.spec.x.format), grid=False, title=axis_title(self.spec.x)
        )
        return alt.X("x:Q", axis=axis, scale=_scale(places, self.spec.x.scale == "log"))


def line_chart(spec: ChartSpec, rows: list[Record], layout: Layout) -> dict[str, Any]:
    """A Vega-Lite specification without its look.

    Args:
        spec: what the page asks for; its `y` is the measured axis.
        rows: records of `layout.records`.
        layout: size of the drawing.
    """
    frame = Frame(spec, rows, layout)
    layers = [
        *_even(frame),
        _band(frame),
        _line(frame),
        _whisker(frame),
        _dot(frame),
        *_values(frame),
        *_names(frame),
    ]
    size = {"width": layout.width - frame.gutter - AXIS_WIDTH, "height": layout.height}
    chart = alt.layer(*layers).properties(**size)
    drawn: dict[str, Any] = chart.to_dict()
    return drawn | {"padding": PADDING, "datasets": drawn.get("datasets", {}) | {POINTS: rows}}


def _scale(places: list[float], log: bool) -> alt.Scale:
    if log:
        return alt.Scale(type="log", base=2, domain=[places[0] / 1.1, places[-1] * 1.05], nice=False)
    return alt.Scale(domain=[0, places[-1] * 1.04], nice=False)


def _band(frame: Frame) -> Layer:
    return frame.layer().mark_area(opacity=0.17, line=False).encode(y=frame.y("band_low"), y2="band_high:Q")


def _line(frame: Frame) -> Layer:
    return frame.layer().mark_line(strokeWidth=2.5).encode(y=frame.y("value"))


def _whisker(frame: Frame) -> Layer:
    spread_out = frame.layer().transform_filter("datum.high > datum.low")
    rule = spread_out.mark_rule(strokeWidth=1.6).encode(y=frame.y("low"), y2="high:Q")
    cap = spread_out.mark_tick(size=9, thickness=1.6, orient="horizontal")
    return alt.layer(rule, *(cap.encode(y=frame.y(end)) for end in ("low", "high")))


def _dot(frame: Frame) -> Layer:
    dot = frame.layer().mark_point(filled=True, size=48, opacity=1)
    return dot.encode(y=frame.y("value"), tooltip=tooltips(frame.spec))


def _values(frame: Frame) -> list[Layer]:
    """Values at the points: above on the upper line, below on the lower one, beside a steep line."""
    if len(frame.labels) > FEW:
        return []
    placed = [row | {"above": _is_upper(row, frame.rows)} for row in frame.rows]
    placed = [row for row in placed if row["above"] or _edge(row, above=False) > LOWEST * frame.top]
    groups: dict[tuple[bool, str], list[Record]] = {}
    for row in placed:
        groups.setdefault((row["above"], _side(row, frame)), []).append(row)
    return [_value(frame, rows, above, side) for (above, side), rows in groups.items()]


def _is_upper(row: Record, rows: list[Record]) -> bool:
    others = [other for other in rows if other["x"] == row["x"] and other is not row]
    return all((row["value"], -rows.index(row)) > (other["value"], -rows.index(other)) for other in others)


def _side(row: Record, frame: Frame) -> str:
    """Which way a value leans so that its own line does not run through it."""
    line = [other for other in frame.rows if other["label"] == row["label"]]
    at = [other["x"] for other in line].index(row["x"])
    sign = 1 if row["above"] else -1
    rise = [sign * (other["value"] - row["value"]) > STEEP * frame.top for other in line]
    left, right = at > 0 and rise[at - 1], at + 1 < len(line) and rise[at + 1]
    return "center" if left == right else "left" if left else "right"


def _value(frame: Frame, rows: list[Record], above: bool, side: str) -> Layer:
    placed = [row | {"at": _edge(row, above=above)} for row in rows]
    offset: dict[str, Any] = {"dy": -9, "baseline": "bottom"} if above else {"dy": 9, "baseline": "top"}
    offset |= {"align": side, "dx": {"left": 4, "right": -4, "center": 0}[side]}
    text = frame.layer(placed).mark_text(fontSize=frame.layout.size - 1, **offset)
    return text.encode(y=frame.y("at"), text="text:N", color=alt.Color("ink:N", scale=None))


def _edge(row: Record, *, above: bool) -> float:
    """The end of whisker or band that the text must clear."""
    ends = (row["high"], row["band_high"]) if above else (row["low"], row["band_low"])
    return float(max(ends) if above else min(ends))


def _names(frame: Frame) -> list[Layer]:
    """The line's name right of its last point, pushed apart where lines meet; above it if it ends early."""
    last = [max((r for r in frame.rows if r["label"] == name), key=lambda r: r["x"]) for name in frame.labels]
    end = max(row["x"] for row in last)
    step = (frame.layout.size + 3) * frame.top / frame.layout.height
    full, early = [r for r in last if r["x"] == end], [r for r in last if r["x"] < end]
    placed = [
        row | {"at": at} for row, at in zip(full, spread([r["value"] for r in full], step), strict=True)
    ]
    above = [row | {"at": _edge(row, above=True) + step} for row in early]
    right = _name(frame, placed, align="left", dx=10)
    return [right, _name(frame, above, align="center", dx=0)] if early else [right]


def _name(frame: Frame, rows: list[Record], align: Literal["left", "center"], dx: int) -> Layer:
    text = frame.layer(rows).mark_text(align=align, dx=dx, fontSize=frame.layout.size, fontWeight=600)
    return text.encode(y=frame.y("at"), text="label:N", color=alt.Color("ink:N", scale=None))


def _even(frame: Frame) -> list[Layer]:
    """A ratio has a line at 1, where both are equal."""
    if frame.spec.measured.format != "times":
        return []
    line = alt.Chart(inline([{"one": 1}])).mark_rule(color=MUTED, strokeDash=[4, 4], strokeWidth=1)
    return [line.encode(y=frame.y("one"))]


def spread(places: list[float], step: float) -> list[float]:
    """The same places, moved up as little as needed to be `step` apart; order of values is kept.

    >>> spread([1.0, 1.0], 0.5)
    [0.75, 1.25]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for lower, upper in pairwise(order):
        lack = step - (moved[upper] - moved[lower])
        if lack > 0:
            moved[upper] += lack
    shift = sum(m - p for m, p in zip(moved, places, strict=True)) / max(len(places), 1)
    return [place - shift for place in moved]
