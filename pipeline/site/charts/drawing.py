"""From points to a specification that can be downloaded and a picture that needs no script."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import vl_convert

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.bars import bar_chart
from pipeline.site.charts.dots import dot_chart
from pipeline.site.charts.grids import grid_chart
from pipeline.site.charts.layout import LAYOUTS, Layout, records
from pipeline.site.charts.lines import line_chart
from pipeline.site.charts.palette import INK, config, themed
from pipeline.site.charts.points import Points

Specification = dict[str, Any]
KINDS: dict[str, Callable[[ChartSpec, list[dict[str, Any]], Layout], Specification]] = {
    "line": line_chart,
    "bar": bar_chart,
    "dots": dot_chart,
    "grid": grid_chart,
}


def drawings(spec: ChartSpec, points: Points, title: str) -> dict[str, tuple[Specification, str]]:
    """Layout name to specification and picture."""
    made = {layout.name: specification(spec, points, layout, title) for layout in LAYOUTS}
    return {name: (drawn, picture(drawn)) for name, drawn in made.items()}


def specification(spec: ChartSpec, points: Points, layout: Layout, title: str) -> Specification:
    """The whole Vega-Lite specification, as it can be downloaded: data, look and title included."""
    drawn = KINDS[spec.kind](spec, records(spec, points), layout)
    look = drawn.get("config", {}) | config(layout.size)
    look["title"] = {"color": INK, "anchor": "start"}
    look["text"] = {"fontSize": layout.size - 1}
    return drawn | {"config": look, "usermeta": {"title": title, "embedOptions": {"renderer": "svg"}}}


def picture(drawn: Specification) -> str:
    """SVG with colours as CSS variables and no fixed size, as one block of HTML (no line breaks)."""
    svg = vl_convert.vegalite_to_svg(drawn)
    fluid = re.sub(r' width="[\d.]+" height="[\d.]+"', "", svg, count=1)
    return themed(fluid).replace("\n", "")
