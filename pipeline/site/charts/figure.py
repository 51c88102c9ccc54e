"""The figure: finding as title, what is plotted, the picture at two widths, the data as a folded table."""

from __future__ import annotations

from pipeline.schemas.question import ChartSpec
from pipeline.schemas.words import MEASURED_LANES
from pipeline.site.charts.points import Point, Points, axis_title, places, series_label
from pipeline.site.facts import reproduce
from pipeline.site.basis import origin_words
from pipeline.site.html import aligned, attribute, one_block, table
from pipeline.site.numbers import written
from pipeline.site.words import LANE_BADGES, label


def figure(
    name: str,
    spec: ChartSpec,
    points: Points,
    texts: tuple[str, str, str],
    pictures: dict[str, str],
    address: str,
) -> str:
    """HTML of one chart.

    Args:
        name: the chart's name on its page.
        spec: what the page asks for.
        points: what was measured.
        texts: title and caption as HTML, and the title as plain text.
        pictures: layout name to SVG.
        address: where the specifications lie, without `-wide.json`.
    """
    title, caption, plain = texts
    plots = "".join(
        f'<div class="wb-plot {layout}" role="img" aria-label="{attribute(plain)}" '
        f'data-spec="{address}-{layout}.json">'
        f"{svg}</div>"
        for layout, svg in pictures.items()
    )
    return one_block(
        f'<figure class="wb-chart" id="chart-{name.replace("_", "-")}" data-search-exclude>'
        f"<figcaption><b>{title}</b><span>{caption} {reading_note(points)}</span></figcaption>"
        f"{plots}{_details(spec, points, address)}</figure>"
    )


def empty_figure(name: str, texts: tuple[str, str, str]) -> str:
    """What stands in a chart's place before anything was measured."""
    return one_block(
        f'<figure class="wb-chart wb-nodata" id="chart-{name.replace("_", "-")}">'
        f"<figcaption><b>Not measured yet</b><span>{texts[1]}</span></figcaption></figure>"
    )


def reading_note(points: Points) -> str:
    """How to read whiskers and shading, with the number of repeats."""
    if points.basis and points.basis.lane not in MEASURED_LANES:
        stated = any(point.value.low is not None for point in points.points)
        return f"Whiskers: the interval of the {points.basis.lane} lane." if stated else ""
    whiskers = (
        f"Whiskers: smallest to largest of {points.repeats} repeats" if points.repeats > 1 else "One repeat"
    )
    return f"{whiskers}{'; shaded: A/A noise band' if points.banded else ''}."


def data_table(spec: ChartSpec, points: Points) -> str:
    """The points as a table: units in the heads, numbers lined up on the decimal point."""
    names = ([spec.panel.column] if spec.panel else []) + [spec.series.column]
    heads = [label(name).capitalize() for name in names]
    heads += [axis_title(axis).replace(", log scale", "") for axis in places(spec)]
    ends = ["Smallest", "Largest"] if spec.lane in MEASURED_LANES else ["Low", "High"]
    heads += [axis_title(spec.measured), *ends, "n"]
    numeric = range(len(names), len(heads))
    columns = list(zip(*(_cells(spec, point) for point in points.points), strict=True))
    lined = [aligned(column) if i in numeric else column for i, column in enumerate(columns)]
    return table(heads, list(zip(*lined, strict=True)), numeric)


def _cells(spec: ChartSpec, point: Point) -> list[str]:
    value, style = point.value, spec.measured.format
    names = ([label(point.panel)] if spec.panel else []) + [series_label(point.series, spec.series)]
    place = [written(at, axis.format) for at, axis in zip((point.x, point.y), places(spec), strict=False)]
    numbers = [written(number, style) for number in (value.value, value.low, value.high)]
    return [*names, *place, *numbers, str(value.n)]


def _details(spec: ChartSpec, points: Points, address: str) -> str:
    command = attribute(reproduce(spec.sql, points.run))
    when = f"{LANE_BADGES[spec.lane]} · {origin_words(points.basis)}"
    return (
        f'<details class="wb-data"><summary>Data</summary>{data_table(spec, points)}'
        f'<p class="wb-note">{when} · <a href="{address}-wide.json" download>Vega-Lite specification</a></p>'
        f"<p><code>{command}</code></p></details>"
    )
