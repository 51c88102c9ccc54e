"""Line charts: a measured quantity over a knob, with whiskers, noise band and labels at the line's end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.layout import Layout, inline, reference_layers, text_width, tick_labels, tooltips, top_of
from pipeline.site.charts.palette import MUTED
from pipeline.site.charts.points import axis_title

Record = dict[str, Any]
Layer = Any
"""Altair's types do not follow its own chaining."""

FEW = 2
"""Up to this many lines every point carries its value."""
STEEP = 0.08
"""Rise to a neighbour, as a share of the axis, from which a value leans away."""
MARGIN = 0.13
"""Room before the first point, as a share of the way to the last."""
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
    def few(self) -> bool:
        """Whether lines are few enough for every point to carry its value."""
        return len(self.labels) <= FEW

    @property
    def ends(self) -> list[Record]:
        """The last point of each line."""
        lines = ([row for row in self.rows if row["label"] == name] for name in self.labels)
        return [max(line, key=lambda row: row["x"]) for line in lines]

    @property
    def line_height(self) -> float:
        """Height of a line of text, in the unit of the measured axis."""
        return (self.layout.size + 3) * self.top / self.layout.height

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
        *reference_layers(spec, across=False),
    ]
    size = {"width": layout.width - frame.gutter - AXIS_WIDTH, "height": layout.height}
    chart = alt.layer(*layers).properties(**size)
    drawn: dict[str, Any] = chart.to_dict()
    return drawn | {"padding": PADDING, "datasets": drawn.get("datasets", {}) | {POINTS: rows}}


def _scale(places: list[float], log: bool) -> alt.Scale:
    """Room to the left of the first point, so that its value keeps off the axis."""
    if log:
        share = (places[-1] / places[0]) ** MARGIN
        return alt.Scale(type="log", base=2, domain=[places[0] / share, places[-1] * 1.03], nice=False)
    room = (places[-1] - places[0]) * MARGIN
    return alt.Scale(domain=[places[0] - room, places[-1] + room / 3], nice=False, zero=False)


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
    """Values at the points: above on the upper line, below on the lower one; ends have them at the name."""
    if not frame.few:
        return []
    placed = [row | {"above": _is_upper(row, frame.rows)} for row in frame.rows if row not in frame.ends]
    placed = [row for row in placed if row["above"] or _edge(row, above=False) > LOWEST * frame.top]
    groups: dict[tuple[bool, str], list[Record]] = {}
    for row in placed:
        groups.setdefault((row["above"], _side(row, frame)), []).append(row)
    return [_value(frame, rows, above, side) for (above, side), rows in groups.items()]


def _is_upper(row: Record, rows: list[Record]) -> bool:
    others = [other for other in rows if other["x"] == row["x"] and other is not row]
    return all((row["value"], -rows.index(row)) > (other["value"], -rows.index(other)) for other in others)


def _side(row: Record, frame: Frame) -> str:
    """Which way a value leans so that its own line does not run through it; the first keeps off the axis."""
    line = [other for other in frame.rows if other["label"] == row["label"]]
    at = [other["x"] for other in line].index(row["x"])
    sign = 1 if row["above"] else -1
    rise = [sign * (other["value"] - row["value"]) > STEEP * frame.top for other in line]
    left, right = at > 0 and rise[at - 1], at + 1 < len(line) and rise[at + 1]
    return "center" if left == right or at == 0 else "left" if left else "right"


def _value(frame: Frame, rows: list[Record], above: bool, side: str) -> Layer:
    placed = [row | {"at": _edge(row, above=above)} for row in rows]
    offset: dict[str, Any] = {"dy": -9, "baseline": "bottom"} if above else {"dy": 9, "baseline": "top"}
    return _text(frame, placed, "text", align=side, dx={"left": 4, "right": -4, "center": 0}[side], **offset)


def _edge(row: Record, *, above: bool) -> float:
    """The end of whisker or band that the text must clear."""
    ends = (row["high"], row["band_high"]) if above else (row["low"], row["band_low"])
    return float(max(ends) if above else min(ends))


def _names(frame: Frame) -> list[Layer]:
    """A line's name, with its last value where lines are few: to the right of its end."""
    end = max(row["x"] for row in frame.rows)
    full, early = [r for r in frame.ends if r["x"] == end], [r for r in frame.ends if r["x"] < end]
    step = frame.line_height * (2 if frame.few else 1)
    places = lifted(spread([r["value"] for r in full], step), frame.line_height * (0.9 if frame.few else 0.3))
    placed = [row | {"at": at} for row, at in zip(full, places, strict=True)]
    layers = [_text(frame, placed, "label", align="left", dx=10, fontWeight=600)]
    if frame.few:
        layers.append(_text(frame, placed, "text", align="left", dx=10, dy=frame.layout.size + 2))
    return layers + _early_names(frame, early)


def _early_names(frame: Frame, rows: list[Record]) -> list[Layer]:
    """A line that ends before the others: its name above its end, or below if another line is in the way."""
    if not rows:
        return []
    placed = [row | {"at": _free(row, frame), "label": _named(row, frame)} for row in rows]
    return [_text(frame, placed, "label", align="center", fontWeight=600)]


def _named(row: Record, frame: Frame) -> str:
    return f"{row['label']} {row['text']}" if frame.few else str(row["label"])


def _free(row: Record, frame: Frame) -> float:
    others = [other["value"] for other in frame.rows if other["x"] == row["x"] and other is not row]
    crowded = any(0 <= other - row["value"] < 2.5 * frame.line_height for other in others)
    return _edge(row, above=not crowded) + frame.line_height * (-1.1 if crowded else 1.1)


def _text(frame: Frame, rows: list[Record], field: str, **options: Any) -> Layer:
    size = frame.layout.size - (field == "text")
    text = frame.layer(rows).mark_text(fontSize=size, **options)
    return text.encode(y=frame.y("at"), text=f"{field}:N", color=alt.Color("ink:N", scale=None))


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


def lifted(places: list[float], floor: float) -> list[float]:
    """The same places, all moved up as far as the lowest needs to stand on the floor."""
    return [place + max(floor - min(places, default=floor), 0.0) for place in places]
