"""Facts: a query's rows become one value with interval, count and provenance."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pandas as pd

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.question import FactSpec, Style
from pipeline.schemas.words import MEASURED_LANES, Lane
from pipeline.site.basis import NOT_RECORDED, Basis, of_computed, of_run
from pipeline.site.numbers import interval, written
from pipeline.site.words import NO_VALUE

Rows = Callable[[str], pd.DataFrame]
"""Runs a query over the views and gives its rows."""

_QUOTED = re.compile(r"('(?:[^']|'')*')")
_LOCAL = {
    "latest_repeats": "(SELECT * FROM local_observations WHERE status = 'ok' AND twin_of_repeat IS NULL)",
    "latest_observations": "local_observations",
    "observations": "local_observations",
    "routing": "local_routing",
}
"""Promoted view to what holds the same of this machine's runs."""
_VIEWS = re.compile(rf"\b({'|'.join(_LOCAL)})\b", re.IGNORECASE)


class QueryShape(ValueError):
    """A query that runs but does not give what a fact or chart needs."""


@dataclass(frozen=True)
class Value:
    """Median over repeats; smallest and largest; None where nothing was measured."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def span(self) -> tuple[float, float, float] | None:
        """Low, value, high for a drawing: all alike without an interval, None where there is no value."""
        if self.value is None:
            return None
        if self.low is None or self.high is None:
            return self.value, self.value, self.value
        return self.low, self.value, self.high

    def text(self, style: Style, unit: str, absent: str = NO_VALUE) -> str:
        """The value as a reader sees it; `absent` where it was looked for and is not there."""
        return absent if self.value is None and self.n else written(self.value, style, unit)

    def interval(self, style: Style, unit: str) -> str:
        """Smallest to largest."""
        return interval(self.low, self.high, style, unit)


MISSING = Value(None, None, None, 0)


@dataclass(frozen=True)
class Fact:
    """One number of a page with all a reader may ask about it.

    Args:
        name: name on its page.
        spec: what the page says about it.
        value: from the promoted run.
        run: the run that gave it, None where nothing did.
        basis: lane, day and versions behind it, None where nothing gave it.
        local: the same query over this machine's newest run, None where there is none.
        command: the command line that gives the rows behind the value.
    """

    name: str
    spec: FactSpec
    value: Value
    run: Manifest | None
    local: Value | None
    command: str
    basis: Basis | None = None

    @property
    def text(self) -> str:
        """Value with unit."""
        return self.value.text(self.spec.format, self.spec.unit, self.spec.absent)

    @property
    def interval(self) -> str:
        """Smallest to largest of the repeats."""
        return self.value.interval(self.spec.format, self.spec.unit)

    @property
    def local_text(self) -> str | None:
        """Value of this machine, None without a local run."""
        return (
            None
            if self.local is None
            else self.local.text(self.spec.format, self.spec.unit, self.spec.absent)
        )

    @property
    def measured_on(self) -> date | None:
        """Day of the measurement, or of the computation."""
        return self.basis.on if self.basis else None

    @property
    def versions(self) -> str:
        """Engines, routers or packages with versions, `not recorded` where unknown."""
        return self.basis.versions if self.basis else NOT_RECORDED


def measure(
    name: str,
    spec: FactSpec,
    rows: Rows,
    runs: Mapping[str, Manifest],
    local: Manifest | None,
    computed: Mapping[Lane, ComputedManifest] | None = None,
) -> Fact:
    """Ask the views for one fact.

    Args:
        name: name on its page.
        spec: what the page says about it.
        rows: runs the query.
        runs: promoted runs by id.
        local: newest run of this machine, None without one.
        computed: manifests of the computed lanes.

    Raises:
        QueryShape: the query lacks a column, or gives two rows for one repeat.
    """
    frame = rows(spec.sql)
    if spec.lane not in MEASURED_LANES or "run_id" not in frame.columns:
        return _answer(name, spec, frame, runs, local, computed or {})
    run_id, frame = newest_run(frame, spec.lane)
    run = runs.get(run_id) if run_id else None
    value = _value(frame)
    refuse_twins(frame, run)
    beside = None if local is None else local_value(spec, rows, local)
    return Fact(name, spec, value, run, beside, reproduce(spec.sql, run), of_run(run))


def _answer(
    name: str,
    spec: FactSpec,
    frame: pd.DataFrame,
    runs: Mapping[str, Manifest],
    local: Manifest | None,
    computed: Mapping[Lane, ComputedManifest],
) -> Fact:
    """A fact of one row: of a computed lane, or of a view that has already taken the median."""
    mine = [run for run in runs.values() if run.lane == spec.lane]
    newest = max(mine, key=lambda run: _started(run.run_id), default=None)
    beside = None if local is None else MISSING
    value, basis = _answered(frame), of_run(newest) or of_computed(computed.get(spec.lane))
    known = _stated(basis, frame) if value.n else None
    return Fact(name, spec, value, newest, beside, reproduce(spec.sql, None), known)


def _stated(basis: Basis | None, frame: pd.DataFrame) -> Basis | None:
    """The basis, with day and versions as the row states them in the columns dated and versions."""
    given = {name: frame[name].iloc[0] for name in ("dated", "versions") if name in frame.columns}
    known = {name: value for name, value in given.items() if not pd.isna(value)}
    if basis is None or not known:
        return basis
    day = known.get("dated", basis.on)
    on = day.date() if isinstance(day, datetime) else date.fromisoformat(str(day)[:10])
    return Basis(basis.lane, on, str(known.get("versions", basis.versions)))


def local_value(spec: FactSpec, rows: Rows, local: Manifest) -> Value:
    """The same query over local runs, narrowed to the newest of them."""
    frame = rows(local_sql(spec.sql)) if spec.lane in MEASURED_LANES else pd.DataFrame()
    return MISSING if frame.empty else _value(frame[frame["run_id"] == local.run_id])


def local_sql(sql: str) -> str:
    """The query with every promoted view replaced by its local twin; words in quotes stay."""
    parts = _QUOTED.split(sql)
    return "".join(
        part if part.startswith("'") else _VIEWS.sub(lambda view: _LOCAL[view[1].lower()], part)
        for part in parts
    )


def newest_run(frame: pd.DataFrame, lane: Lane) -> tuple[str | None, pd.DataFrame]:
    """Only one run speaks: the newest that the query returns. Run ids end with their start time."""
    if lane not in MEASURED_LANES:
        return None, frame
    if "run_id" not in frame.columns:
        raise QueryShape("the query of a measured lane needs the column run_id")
    ids = sorted(frame["run_id"].dropna().unique(), key=_started)
    return (ids[-1], frame[frame["run_id"] == ids[-1]]) if ids else (None, frame)


def refuse_twins(frame: pd.DataFrame, run: Manifest | None) -> None:
    """A/A twins give the noise band and are no repeats: counting them would raise n."""
    if run is not None and "repeat" in frame.columns and (frame["repeat"] > run.repeats).any():
        raise QueryShape("the query counts A/A twins as repeats: add twin_of_repeat IS NULL")


def _started(run_id: str) -> str:
    return run_id.rsplit("-", 1)[-1]


def _answered(frame: pd.DataFrame) -> Value:
    """One row that is already an answer, with interval and count where the view knows them."""
    if "value" not in frame.columns or len(frame) > 1:
        raise QueryShape("a query without run_id gives one row with the column value")
    if frame.empty:
        return MISSING
    row = {
        name: _number(frame[name].iloc[0]) for name in ("value", "low", "high", "n") if name in frame.columns
    }
    return Value(row["value"], row.get("low"), row.get("high"), int(row.get("n") or 1))


def _number(cell: Any) -> float | None:
    return None if pd.isna(cell) else float(cell)


def _value(frame: pd.DataFrame) -> Value:
    if "value" not in frame.columns:
        raise QueryShape("the query of a fact needs a column named value")
    _refuse_mixed(frame)
    found = summary([float(each) for each in frame["value"].dropna()])
    return found if found.n else Value(None, None, None, len(frame))


def summary(values: list[float]) -> Value:
    """Median, smallest, largest and count of the repeats."""
    if not values:
        return MISSING
    return Value(statistics.median(values), min(values), max(values), len(values))


def _refuse_mixed(frame: pd.DataFrame) -> None:
    if "repeat" not in frame.columns:
        raise QueryShape("the query of a measured lane needs the column repeat")
    doubled = frame["repeat"].duplicated()
    if doubled.any():
        raise QueryShape(f"the query mixes cells: repeat {frame['repeat'][doubled].iloc[0]} has several rows")


def reproduce(sql: str, run: Manifest | None) -> str:
    """A command line that prints the rows behind a number."""
    flat = " ".join(sql.split())
    # A line to be copied and run by the reader, who may ask the views anything.
    narrowed = f"SELECT * FROM ({flat}) WHERE run_id = '{run.run_id}'" if run else flat  # noqa: S608
    return f'weighbridge query "{narrowed}"'
