"""From the rows of a block of evidence to points, each for the claim, against it, or undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        columns: what else the query gives, by column: numbers as their median, texts that all units share.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    dated: date | None
    versions: tuple[str, ...] = ()
    columns: Mapping[str, float | str] = field(default_factory=dict)


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


def turns_at(rule: Rule, point: Point, band: Band | None) -> float | None:
    """The value nearest to a point's own at which it would speak otherwise; null where none is.

    The noise band counts: a point turns at the edge of the band where that lies before the threshold.
    """
    now = side(rule, point, band)
    return next((edge for edge in _edges(rule, point, band) if _changes(rule, point, band, edge, now)), None)


def _edges(rule: Rule, point: Point, band: Band | None) -> list[float]:
    """Values at which a side may change, nearest first."""
    edges = [rule.threshold]
    # A band that is a share of the value itself moves with it and has no edge.
    if rule.noise and band and not (rule.noise.relative and rule.noise.no_difference == 0):
        half = width(rule, point, band)
        edges += [rule.noise.no_difference - half, rule.noise.no_difference + half]
    return sorted(edges, key=lambda edge: abs(edge - point.value))


def _changes(rule: Rule, point: Point, band: Band | None, edge: float, now: Side) -> bool:
    """Whether the side is another one on the edge, or just beyond it."""
    step = max(abs(edge), 1.0) * 1e-9
    beyond = {edge, edge + step, edge - step} if edge == point.value else {edge}
    beyond.add(edge + step if edge > point.value else edge - step)
    return any(side(rule, replace(point, value=value), band) != now for value in beyond)


def _point(lane: Lane, name: str, rows: Sequence[dict[str, Any]]) -> Point:
    values = [float(row["value"]) for row in rows]
    low, high = _interval(lane, values, rows)
    days = [row["dated"] for row in rows if row.get("dated") is not None]
    versions = tuple(sorted({str(row["versions"]) for row in rows if row.get("versions")}))
    dated = min(map(_day, days), default=None)
    return Point(name, median(values), low, high, len(values), dated, versions, _columns(rows))


_OWN = frozenset(
    {"point", "value", "low", "high", "dated", "versions", "run_id", "repeat", "lane", "experiment"}
)


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, float | str]:
    """Further columns of a point, which could part the data."""
    found: dict[str, float | str] = {}
    for name in rows[0].keys() - _OWN:
        values = [row[name] for row in rows]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            found[name] = float(median(values))
        elif len(set(values)) == 1 and values[0] is not None:
            found[name] = str(values[0])
    return dict(sorted(found.items()))


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
