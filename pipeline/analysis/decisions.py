"""What one evidence lane says about one claim, or why it says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import duckdb

from pipeline.analysis.authority import refused_by_data
from pipeline.analysis.provenance import UndecidedError, day_of, versions_of
from pipeline.analysis.rules import Band, Point, Side, points_of, side, width
from pipeline.errors import InputError
from pipeline.schemas.claim import Claim, Evidence
from pipeline.schemas.words import MEASURED_LANES, Lane, Outcome
from pipeline.store.query import run_query
from pipeline.store.runs import REPEATS_FOR_VERDICTS


@dataclass(frozen=True)
class Judged:
    """A block with its points, the side of each, and the band they were held against."""

    block: Evidence
    points: list[Point]
    sides: list[Side]
    band: Band | None


@dataclass(frozen=True)
class Decision:
    """What one lane says about a claim.

    Attributes:
        lane: the lane.
        outcome: the verdict.
        block: block of evidence that the headline is of.
        point: the headline point.
        width: half width of the headline's noise band, or of its interval.
        points: number of points that decided.
        dimension: what a `depends` depends on, null for other outcomes.
        decided_on: day of the oldest measurement that decided.
        versions: engine and router versions behind it.
        judged: all blocks of the lane with their points and sides.
    """

    lane: Lane
    outcome: Outcome
    block: Evidence
    point: Point
    width: float
    points: int
    dimension: str | None
    decided_on: date
    versions: str | None
    judged: Sequence[Judged] = ()


def decision(claim: Claim, lane: Lane, connection: duckdb.DuckDBPyConnection) -> Decision:
    """What a lane says about a claim.

    Raises:
        UndecidedError: with the reason.
        InputError: a query of the claim cannot be run.
    """
    judged = [_judged(claim, block, connection) for block in claim.evidence if block.lane == lane]
    sides = [each for block in judged for each in block.sides if each != "undecided"]
    if not sides:
        raise UndecidedError("every difference is inside the noise band")
    differ = len(set(sides)) > 1
    head = judged[0]
    point = next((each for each in head.points if each.name == head.block.headline), head.points[0])
    return Decision(
        lane=lane,
        outcome="depends" if differ else claim.if_true if sides[0] == "for" else claim.if_false,
        block=head.block,
        point=point,
        width=width(head.block.rule, point, head.band),
        points=len(sides),
        dimension=claim.dimension if differ else None,
        decided_on=min(day_of(each.block, each.points, connection) for each in judged),
        versions=versions_of(lane, [(each.block, each.points) for each in judged], connection),
        judged=judged,
    )


def _judged(claim: Claim, block: Evidence, connection: duckdb.DuckDBPyConnection) -> Judged:
    if refusal := refused_by_data(block, connection):
        raise UndecidedError(refusal)
    points = points_of(block, _rows(claim, block, connection))
    if len(points) < block.points:
        raise UndecidedError(
            f"{len(points)} of {block.points} points measured" if points else "no rows in scope"
        )
    band = _band(block, connection)
    if block.lane in MEASURED_LANES:
        _require_repeats(points)
        if band is None:
            raise UndecidedError("no A/A band of the same host")
    return Judged(block, points, [side(block.rule, point, band) for point in points], band)


def _rows(claim: Claim, block: Evidence, connection: duckdb.DuckDBPyConnection) -> list[dict[str, object]]:
    try:
        found: list[dict[str, object]] = run_query(connection, block.sql).to_pylist()
    except InputError as error:
        raise InputError(f"claim {claim.id}: {error.what}", where=block.sql.strip()) from error
    return found


def _require_repeats(points: Sequence[Point]) -> None:
    for point in points:
        if point.n < REPEATS_FOR_VERDICTS:
            raise UndecidedError(f"{point.n} repeats of {point.name}, a verdict needs {REPEATS_FOR_VERDICTS}")


_BAND = """
    SELECT count(*) = count(band_abs), max(band_rel), max(band_abs)
    FROM (
        SELECT DISTINCT host_id FROM latest_observations
        WHERE lane = $lane AND list_contains($read, experiment)
    ) LEFT JOIN (
        SELECT * FROM noise WHERE lane = $lane AND experiment = $experiment AND metric = $metric
    ) USING (host_id)
"""


def _band(block: Evidence, connection: duckdb.DuckDBPyConnection) -> Band | None:
    """The widest band of the hosts that the block reads; null where one of them has none."""
    if (noise := block.rule.noise) is None:
        return None
    named = {
        "lane": block.lane,
        "read": list(block.experiments),
        "experiment": noise.experiment,
        "metric": noise.metric,
    }
    complete, relative, absolute = connection.execute(_BAND, named).fetchall()[0]
    return Band(relative, absolute) if complete and absolute is not None else None
