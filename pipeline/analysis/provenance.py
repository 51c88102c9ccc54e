"""Date and versions of what decided: of rows and runs on measured lanes, of the manifest on computed ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import duckdb

from pipeline.analysis.rules import Point
from pipeline.schemas.claim import Evidence
from pipeline.schemas.words import MEASURED_LANES, Lane


class UndecidedError(Exception):
    """A lane cannot decide; the message says why, for the note beside the verdict."""


_DAYS = """
    SELECT max(started_at)::DATE AS newest FROM latest_observations
    WHERE lane = ? AND list_contains(?, experiment) AND status = 'ok' GROUP BY experiment ORDER BY newest
"""


def day_of(block: Evidence, points: Sequence[Point], connection: duckdb.DuckDBPyConnection) -> date:
    """Day of the oldest measurement behind a block.

    The query's column `dated` goes first. Without it a measured lane has the day of its experiments, and a
    computed lane the day its tables were computed. Published measurements are as old as their publication:
    the day of computing says nothing about them.

    Raises:
        UndecidedError: there is no date.
    """
    days = [point.dated for point in points if point.dated]
    if not days and block.lane in MEASURED_LANES:
        found = connection.execute(_DAYS, [block.lane, list(block.experiments)]).fetchall()
        days = [day for (day,) in found]
    elif not days and block.lane == "published":
        raise UndecidedError("published rows need a column dated, the day they were measured")
    elif not days and (computed := _computed(block.lane, connection)):
        days = [computed[0]]
    if not days:
        raise UndecidedError(
            "the evidence has no date: its query gives no column dated and names no experiment"
        )
    return min(days)


def versions_of(
    lane: Lane, judged: Iterable[tuple[Evidence, Sequence[Point]]], connection: duckdb.DuckDBPyConnection
) -> str | None:
    """Versions behind a decision, null where none are recorded.

    The query's column `versions` goes first; then engines and routers of a measured lane, and the packages
    that computed the others.
    """
    blocks = list(judged)
    named = {each for _, points in blocks for point in points for each in point.versions}
    if named:
        return ", ".join(sorted(named))
    if lane in MEASURED_LANES:
        return _measured(lane, [name for block, _ in blocks for name in block.experiments], connection)
    computed = _computed(lane, connection)
    return computed[1] if computed else None


_VERSIONS = """
    WITH used AS (
        SELECT engine AS tool, engine_version AS version, lane, experiment FROM latest_observations
        UNION SELECT 'vllm-router', router_version, lane, experiment FROM latest_observations
              WHERE router_version IS NOT NULL
    )
    SELECT string_agg(named, ', ' ORDER BY named) FROM (
        SELECT DISTINCT tool || ' ' || coalesce(version, '(version not recorded)') AS named
        FROM used WHERE lane = ? AND list_contains(?, experiment)
    )
"""


def _measured(lane: Lane, experiments: list[str], connection: duckdb.DuckDBPyConnection) -> str | None:
    found: str | None = connection.execute(_VERSIONS, [lane, experiments]).fetchall()[0][0]
    return found


def _computed(lane: Lane, connection: duckdb.DuckDBPyConnection) -> tuple[date, str | None] | None:
    """Day and versions of a computed lane's manifest."""
    found: list[Any] = connection.execute(
        "SELECT computed_at::DATE, versions FROM computed_lanes WHERE lane = ?", [lane]
    ).fetchall()
    return (found[0][0], found[0][1]) if found else None
