"""The exchange rate: how much KV memory a better router replaces.

For a policy at pool P, the pool at which the baseline policy (round_robin) reaches the same median: by linear
interpolation of the baseline's medians in log2(pool). A difference inside the A/A band counts as reached.
Steady rows where the traffic has them, whole runs for traffic that cannot hit a cache. No A/A band, no rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
from pydantic import Field

from pipeline.analysis.authority import MISS_OVER_HIT, miss_over_hit
from pipeline.lanes.crossing import Median, pool_that_reaches
from pipeline.paths import Workspace
from pipeline.schemas.base import Strict
from pipeline.store.columns import arrow_table, columns_of
from pipeline.store.views import View

BASELINE = "round_robin"
EXPERIMENT = "routing_memory"
# Metric to the sign that makes more of it better.
METRICS = {"prefix_hit_rate": 1.0, "ttft_p50_ms": -1.0}


class Exchange(Strict):
    """A row of the view `exchange`."""

    lane: str = Field(description="evidence lane")
    model: str = Field(description="model")
    traffic: str = Field(description="traffic")
    phase: str = Field(description="steady, or whole for traffic that cannot hit a cache")
    policy: str = Field(description="policy that is compared with round_robin")
    metric: str = Field(
        description="prefix_hit_rate or ttft_p50_ms (that only where a miss costs three hits)"
    )
    pool_tokens: int = Field(description="KV pool of one replica under the policy, tokens")
    value: float = Field(description="median of the policy at that pool")
    baseline_value_same_pool: float | None = Field(description="median of round_robin at the same pool")
    reached: bool = Field(description="round_robin reaches the value at a pool that was measured")
    baseline_pool_tokens: float | None = Field(
        description="pool at which it does, null where it does at none"
    )
    replaced_tokens: float | None = Field(description="pool that the policy replaces on each replica, tokens")
    factor: float | None = Field(description="round_robin's pool over the policy's")
    largest_pool_tokens: int = Field(description="largest pool measured under round_robin")
    tolerance: float = Field(description="A/A band within which values count as equal, in the metric's unit")
    n_repeats: int = Field(description="fewest repeats behind a median")


_MEDIANS = """
    WITH phased AS (
        SELECT *, max(phase = 'steady') OVER (PARTITION BY lane, model, traffic) AS has_steady
        FROM latest_repeats WHERE experiment = $experiment AND answers_render AND policy IS NOT NULL
    )
    SELECT lane, model, traffic, phase, policy, kv_pool_tokens AS pool, median({metric}) AS value,
           count({metric}) AS repeats, any_value(host_id) AS host
    FROM phased WHERE phase = CASE WHEN has_steady THEN 'steady' ELSE 'whole' END AND {metric} IS NOT NULL
    GROUP BY ALL ORDER BY ALL
"""


def _exchanges(connection: duckdb.DuckDBPyConnection) -> Iterator[Exchange]:
    for metric in METRICS:
        rows = connection.execute(_MEDIANS.format(metric=metric), {"experiment": EXPERIMENT}).fetchall()
        setting: dict[tuple[str, ...], dict[str, list[Median]]] = {}
        for lane, model, traffic, phase, policy, pool, value, repeats, host in rows:
            curves = setting.setdefault((lane, model, traffic, phase, host), {})
            curves.setdefault(policy, []).append(Median(pool, value, repeats))
        for key, curves in setting.items():
            band = _band(connection, metric, key)
            if band and BASELINE in curves and _may_speak(connection, metric, key[0], key[1]):
                yield from _compared(metric, key, curves, band)


def _may_speak(connection: duckdb.DuckDBPyConnection, metric: str, lane: str, model: str) -> bool:
    if metric == "prefix_hit_rate" or lane != "cpu":
        return True
    return (miss_over_hit(connection, lane, model) or 0.0) >= MISS_OVER_HIT


def _band(
    connection: duckdb.DuckDBPyConnection, metric: str, key: tuple[str, ...]
) -> tuple[float, float] | None:
    found = connection.execute(
        "SELECT band_rel, band_abs FROM noise "
        "WHERE lane = ? AND host_id = ? AND experiment = ? AND metric = ?",
        [key[0], key[4], EXPERIMENT, metric],
    ).fetchall()
    return found[0] if found else None


def _compared(
    metric: str, key: tuple[str, ...], curves: dict[str, list[Median]], band: tuple[float, float]
) -> Iterator[Exchange]:
    baseline = curves[BASELINE]
    for policy, curve in curves.items():
        for point in curve if policy != BASELINE else ():
            tolerance = band[1] if metric == "prefix_hit_rate" else band[0] * point.value
            pool = pool_that_reaches(baseline, point.pool, point.value, tolerance, METRICS[metric])
            yield Exchange(
                lane=key[0],
                model=key[1],
                traffic=key[2],
                phase=key[3],
                policy=policy,
                metric=metric,
                pool_tokens=int(point.pool),
                value=point.value,
                baseline_value_same_pool=next((b.value for b in baseline if b.pool == point.pool), None),
                reached=pool is not None,
                baseline_pool_tokens=pool,
                replaced_tokens=None if pool is None else pool - point.pool,
                factor=None if pool is None else pool / point.pool,
                largest_pool_tokens=int(max(b.pool for b in baseline)),
                tolerance=tolerance,
                n_repeats=min(m.repeats for m in [point, *baseline]),
            )


def _make(_: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
    rows = [dict(each) for each in _exchanges(connection)]
    return arrow_table(columns_of(Exchange), rows)


EXCHANGE = View(
    "exchange",
    "How much KV pool a policy replaces: the pool at which round_robin has the same median.",
    tuple(columns_of(Exchange)),
    _make,
    ("latest_observations", "latest_repeats", "noise"),
)
