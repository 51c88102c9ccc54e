"""From the rows of a block of evidence to points, each for the claim, against it, or undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from statistics import median
from typing import Any, Literal

from pipeline.errors import CheckFailed
from pipeline.schemas.claim import Evidence, Rule
from pipeline.schemas.words import MEASURED_LANES, Lane

# With fewer sweeps each is a dot and there is no interval.
SWEEPS_FOR_INTERVAL = 8
CONFIDENCE = 0.95

Side = Literal["for", "against", "undecided"]


@dataclass(frozen=True)
class Point:
    """One point of a block: its units (repeats or sweeps) in one value.

    Attributes:
        name: as the query names it.
        value: median over the units.
        low: smallest repeat, or lower end of the interval; null without one.
        high: largest repeat, or upper end; null without one.
        n: independent units with a value.
        dated: day of the measurement, if the query gives it.
        versions: engine versions, if the query gives them.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    dated: date | None
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Band:
    """An A/A noise band."""

    relative: float
    absolute: float


def points_of(block: Evidence, rows: Sequence[dict[str, Any]]) -> list[Point]:
    """Points in the order the query gives them; rows without a value are left out.

    Raises:
        CheckFailed: the query lacks the columns point and value.
    """
    units: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if not {"point", "value"} <= row.keys():
            raise CheckFailed("a query of evidence gives the columns point and value", where=block.sql)
        if row["value"] is not None:
            units.setdefault(str(row["point"]), []).append(row)
    return [_point(block.lane, name, group) for name, group in units.items()]


def width(rule: Rule, point: Point, band: Band | None) -> float:
    """Half width of what counts as equal: the noise band on measured lanes, else half the interval."""
    if rule.noise and band:
        scale = abs(rule.noise.no_difference or point.value)
        return band.relative * scale if rule.noise.relative else band.absolute
    return 0.0 if point.low is None or point.high is None else (point.high - point.low) / 2


def side(rule: Rule, point: Point, band: Band | None) -> Side:
    """Which way a point speaks; inside the noise band it is "no difference", which the rule interprets."""
    noise = rule.noise
    if noise and band and abs(point.value - noise.no_difference) <= width(rule, point, band):
        inside: dict[str, Side] = {"true": "for", "false": "against", "undecided": "undecided"}
        return inside[noise.inside]
    met = {
        "above": point.value > rule.threshold,
        "below": point.value < rule.threshold,
        "at least": point.value >= rule.threshold,
        "at most": point.value <= rule.threshold,
    }
    return "for" if met[rule.when] else "against"


def _point(lane: Lane, name: str, rows: Sequence[dict[str, Any]]) -> Point:
    values = [float(row["value"]) for row in rows]
    low, high = _interval(lane, values, rows)
    days = [row["dated"] for row in rows if row.get("dated") is not None]
    versions = tuple(sorted({str(row["versions"]) for row in rows if row.get("versions")}))
    return Point(name, median(values), low, high, len(values), min(map(_day, days), default=None), versions)


def _interval(
    lane: Lane, values: list[float], rows: Sequence[dict[str, Any]]
) -> tuple[float | None, float | None]:
    if lane in MEASURED_LANES:
        return min(values), max(values)
    if lane == "published":
        return _interval_of_median(values)
    return rows[0].get("low"), rows[0].get("high")


def _interval_of_median(values: list[float]) -> tuple[float | None, float | None]:
    """Order-statistic (distribution-free) interval of the median over sweeps."""
    if len(values) < SWEEPS_FOR_INTERVAL:
        return None, None
    from scipy import stats  # noqa: PLC0415 - takes a second to load, and few claims need it

    test: Any = stats.quantile_test(values, p=0.5)
    interval = test.confidence_interval(CONFIDENCE)
    return float(interval.low), float(interval.high)


def _day(value: Any) -> date:
    return value.date() if isinstance(value, datetime) else date.fromisoformat(str(value))
