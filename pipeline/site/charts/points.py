"""Points of a chart: repeats summarised, with the A/A band beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.question import Axis, ChartSpec, Grouping, NoiseOf
from pipeline.schemas.words import MEASURED_LANES, Lane
from pipeline.site.basis import Basis, of_computed, of_run
from pipeline.site.facts import QueryShape, Rows, Value, newest_run, refuse_twins, summary
from pipeline.site.words import label


@dataclass(frozen=True)
class Point:
    """One place on a chart.

    Args:
        series: name of the line or bar in the data.
        panel: small multiple it belongs to, empty where there is one.
        x: position along a line chart or grid, None on bars and dots.
        y: position up a grid, None elsewhere.
        value: median, interval and count of the repeats.
        band: half width of the A/A noise band in the unit of the value, None where there are no twins.
    """

    series: str
    panel: str
    x: float | None
    y: float | None
    value: Value
    band: float | None


@dataclass(frozen=True)
class Points:
    """All points of a chart, in drawing order, the run they come from, and what they stand on."""

    points: tuple[Point, ...]
    run: Manifest | None
    basis: Basis | None = None

    @property
    def series(self) -> list[str]:
        """Names of lines or bars, in order."""
        return list(dict.fromkeys(point.series for point in self.points))

    @property
    def panels(self) -> list[str]:
        """Names of small multiples, in order."""
        return list(dict.fromkeys(point.panel for point in self.points))

    @property
    def repeats(self) -> int:
        """Most repeats behind one point."""
        return max((point.value.n for point in self.points), default=0)

    @property
    def banded(self) -> bool:
        """Whether any point has a noise band."""
        return any(point.band for point in self.points)


def collect(
    spec: ChartSpec,
    rows: Rows,
    runs: Mapping[str, Manifest],
    computed: Mapping[Lane, ComputedManifest] | None = None,
) -> Points:
    """Ask the views for one chart's points.

    Raises:
        QueryShape: the query lacks an encoded column, or gives two rows for one repeat of a point.
    """
    run_id, frame = newest_run(rows(spec.sql), spec.lane)
    run = runs.get(run_id) if run_id else None
    refuse_twins(frame, run)
    _require(frame, spec)
    band = noise_band(spec.noise, rows, run) if spec.noise else None
    basis = of_run(run) or of_computed((computed or {}).get(spec.lane))
    return Points(tuple(_grouped(frame, spec, band)), run, basis)


def encoded_columns(spec: ChartSpec) -> list[str]:
    """Columns the query must give."""
    wanted = [spec.measured.column, spec.series.column]
    wanted += [axis.column for axis in places(spec)]
    wanted += [spec.panel.column] if spec.panel else []
    return list(dict.fromkeys(wanted))


def noise_band(noise: NoiseOf, rows: Rows, run: Manifest | None) -> tuple[float, float] | None:
    """The widest relative and absolute A/A band of a metric, on the host of the run."""
    if run is None:
        return None
    frame = rows("SELECT * FROM noise")
    mine = frame[(frame["experiment"] == noise.experiment) & (frame["metric"] == noise.metric)]
    mine = mine[mine["host_id"] == run.host.host_id]
    if mine.empty:
        return None
    return _largest(mine["band_rel"]), _largest(mine["band_abs"])


def _largest(column: Any) -> float:
    known = column.dropna()
    return float(known.max()) if len(known) else 0.0


def _require(frame: pd.DataFrame, spec: ChartSpec) -> None:
    missing = [name for name in encoded_columns(spec) if name not in frame.columns]
    if missing:
        raise QueryShape(f"the query of the chart does not give {', '.join(missing)}")


def _grouped(frame: pd.DataFrame, spec: ChartSpec, band: tuple[float, float] | None) -> Iterator[Point]:
    """Points in the order of panels, series and x that the page asks for."""
    frame = frame.dropna(subset=[spec.measured.column])
    for panel in _ordered(frame, spec.panel):
        inside = frame if spec.panel is None else frame[frame[spec.panel.column].astype(str) == panel]
        for series in _ordered(inside, spec.series):
            line = inside[inside[spec.series.column].astype(str) == series]
            yield from _line(line, spec, (series, panel), band)


def _ordered(frame: pd.DataFrame, grouping: Grouping | None) -> list[str]:
    if grouping is None:
        return [""]
    present = list(dict.fromkeys(frame[grouping.column].astype(str)))
    return [name for name in grouping.order if name in present] + [
        name for name in present if name not in grouping.order
    ]


def _line(
    frame: pd.DataFrame, spec: ChartSpec, names: tuple[str, str], band: tuple[float, float] | None
) -> Iterator[Point]:
    columns = [axis.column for axis in places(spec)]
    groups: Any = frame.groupby(columns, sort=True) if columns else [((), frame)]
    if spec.kind == "dots":
        groups = [((), frame.iloc[[row]]) for row in range(len(frame))]
    place: tuple[Any, ...]
    for place, here in groups:
        _refuse_several(here, spec, names[0])
        value = _summed(here, spec)
        at: list[float | None] = [float(each) for each in place]
        x, y = [*at, None, None][:2]
        yield Point(*names, x, y, value, _half(value, band))


def places(spec: ChartSpec) -> list[Axis]:
    """Axes that say where a point lies; the others say how much."""
    wanted = [spec.x] if spec.kind == "line" else [spec.x, spec.y] if spec.kind == "grid" else []
    return [axis for axis in wanted if axis is not None]


def _refuse_several(here: pd.DataFrame, spec: ChartSpec, name: str) -> None:
    """A repeat is one row of a point; so is a computed answer, except where sweeps of others add up."""
    if "repeat" in here.columns and here["repeat"].duplicated().any():
        raise QueryShape(f"the query mixes cells at {name}: a repeat has several rows")
    if spec.lane not in (*MEASURED_LANES, "published") and len(here) > 1:
        raise QueryShape(f"the query gives {len(here)} rows for one point of {name}")


def _summed(here: pd.DataFrame, spec: ChartSpec) -> Value:
    """Median and range of repeats; a computed row brings an interval of its own, or has none.

    Several rows of a computed lane at one place are sweeps: they give a median, and no range of repeats.
    """
    value = summary([float(each) for each in here[spec.measured.column]])
    if spec.lane in MEASURED_LANES:
        return value
    low, high = (_own(here, name) for name in ("low", "high"))
    return Value(value.value, low, high, value.n)


def _own(here: pd.DataFrame, name: str) -> float | None:
    cell = here[name].iloc[0] if name in here.columns else None
    return None if pd.isna(cell) else float(cell)


def _half(value: Value, band: tuple[float, float] | None) -> float | None:
    """Relative where the value is not zero: twins are measured at one level and must speak for others."""
    if band is None or value.value is None:
        return None
    relative, absolute = band
    return abs(value.value) * relative if value.value and relative else absolute


def series_label(name: str, grouping: Grouping) -> str:
    """A line's or bar's name as a reader sees it."""
    number = name.removesuffix(".0")
    return f"{number} {grouping.suffix}" if grouping.suffix else label(name)


def axis_title(axis: Axis) -> str:
    """`KV pool per replica (tokens, log scale)`."""
    notes = [axis.unit] if axis.unit else []
    notes += ["log scale"] if axis.scale == "log" else []
    return f"{axis.title} ({', '.join(notes)})" if notes else axis.title
