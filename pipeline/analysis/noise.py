"""Noise bands: how far two identical runs, back to back on one host, lie apart.

Each cell counts in the phase that decides: its steady half where it has one, else the whole. A cold half is
noisier than what is compared.
"""

from __future__ import annotations

from typing import Any

import duckdb
from pydantic import Field

from pipeline.paths import Workspace
from pipeline.schemas.base import Strict
from pipeline.schemas.observation import Observation
from pipeline.store.columns import columns_of
from pipeline.store.views import View


class NoiseBand(Strict):
    """A row of the view `noise`."""

    lane: str = Field(description="evidence lane")
    host_id: str = Field(description="machine")
    experiment: str = Field(description="experiment whose cells were measured twice")
    metric: str = Field(description="column of observations")
    band_rel: float = Field(description="largest |a - b| over the mean of a pair, as a share")
    band_abs: float = Field(description="largest |a - b| of a pair, in the metric's unit")
    n_pairs: int = Field(description="A/A pairs")


def result_metrics() -> list[str]:
    """Numeric result columns of an observation, in its order."""
    names = [column.name for column in columns_of(Observation) if column.kind in (int, float)]
    return ["duration_s", *names[names.index("requests") :]]


def _sql() -> str:
    metrics = ", ".join(f"{name}::DOUBLE AS {name}" for name in result_metrics())
    keys = "run_id, lane, host_id, experiment, cell_id, phase"
    return f"""
        WITH long AS (
            UNPIVOT (
                SELECT {keys}, repeat, twin_of_repeat, {metrics} FROM latest_observations WHERE status = 'ok'
                QUALIFY phase = CASE
                    WHEN bool_or(phase = 'steady') OVER (PARTITION BY run_id, cell_id, repeat) THEN 'steady'
                    ELSE 'whole' END
            )
            ON {", ".join(result_metrics())} INTO NAME metric VALUE value
        ), pairs AS (
            SELECT {keys}, metric, twin.repeat, abs(twin.value - first.value) AS apart,
                   (abs(twin.value) + abs(first.value)) / 2 AS mean
            FROM long twin JOIN long first
              USING ({keys}, metric)
            WHERE twin.twin_of_repeat = first.repeat
        )
        SELECT lane, host_id, experiment, metric,
               max(CASE WHEN apart = 0 THEN 0 ELSE apart / mean END) AS band_rel, max(apart) AS band_abs,
               count(DISTINCT (cell_id, repeat)) AS n_pairs
        FROM pairs GROUP BY ALL ORDER BY ALL
    """  # noqa: S608 - every name comes from the schema


def _bands(_: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
    return connection.sql(_sql()).to_arrow_table()


NOISE = View(
    "noise",
    "A/A bands of the rows that speak now: a difference inside the band is no difference.",
    tuple(columns_of(NoiseBand)),
    _bands,
    ("latest_observations",),
)
