"""The exchange rate between routing and memory, and between routing and GPUs, at equal p99 TTFT.

For the better policy at pool P: the pool at which the baseline is as fast, and the fleet at which it is,
the total load unchanged; by linear interpolation of the baseline's p99 over log2 of the pool or of the
fleet. A difference below 5 % counts as reached: that is about what seeds differ by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.lanes.crossing import Median, pool_that_reaches
from pipeline.lanes.simulated.grid import (
    AWARE,
    BALANCED,
    BASE_POOL_GIB,
    BASELINE,
    GPU_FACTORS,
    POOLS_GIB,
    REPLICAS,
)
from pipeline.lanes.simulated.serving import SERVINGS
from pipeline.schemas.simulated import FleetCellRow, FleetExchangeRow, Winner

EQUAL = 0.05
LEAST_GAIN = 1.10
"""A gain below this is none."""

Key = tuple[float, float, int]
"""Load a replica, shared share, prefixes."""


@dataclass(frozen=True)
class Curves:
    """All cells at one load and one kind of sharing: policy to pool to cell; factor of GPUs to cell."""

    by_pool: dict[str, dict[float, FleetCellRow]]
    by_gpus: dict[float, FleetCellRow]


def exchange_rows(cells: Sequence[FleetCellRow]) -> list[FleetExchangeRow]:
    """One row for each load, sharing, baseline and pool that the grid also has doubled."""
    return [
        _row(key, curves, baseline, pool)
        for key, curves in sorted(_curves(cells).items())
        for baseline in (BASELINE, BALANCED)
        for pool in POOLS_GIB[:-1]
    ]


def _curves(cells: Sequence[FleetCellRow]) -> dict[Key, Curves]:
    found: dict[Key, Curves] = {}
    for cell in cells:
        if cell.experiment == "exchange":
            key = (round(cell.load_per_replica_s, 6), cell.shared_share, cell.prefixes)
            found.setdefault(key, Curves({}, {})).by_pool.setdefault(cell.policy, {})[cell.kv_pool_gib] = cell
    for cell in cells:
        if cell.experiment == "exchange_gpus":
            key = (round(cell.request_rate_s / REPLICAS, 6), cell.shared_share, cell.prefixes)
            factor = min(GPU_FACTORS, key=lambda each: abs(each - cell.replicas / REPLICAS))
            found[key].by_gpus[factor] = cell
    return found


def _row(key: Key, curves: Curves, baseline: str, pool: float) -> FleetExchangeRow:
    load, share, prefixes = key
    better, same, doubled = (
        curves.by_pool[AWARE][pool], curves.by_pool[baseline][pool], curves.by_pool[baseline][2 * pool],
    )  # fmt: skip
    target = better.ttft_p99_ms
    at = _reached(target, {p: cell for p, cell in curves.by_pool[baseline].items() if p >= pool})
    gpus = _gpus(target, same, curves, baseline, pool)
    tried = baseline == BASELINE and pool == BASE_POOL_GIB and target is not None
    return FleetExchangeRow(
        baseline=baseline,
        policy=AWARE,
        kv_pool_gib=pool,
        load_per_replica_s=load,
        shared_share=share,
        prefixes=prefixes,
        working_set_gib=SERVINGS[better.serving].gib(better.working_set_pools * better.kv_pool_tokens),
        winner=winner(better.ttft_p99_ms, same.ttft_p99_ms, doubled.ttft_p99_ms),
        ttft_p99_ms=target,
        ttft_p99_low_ms=better.ttft_p99_low_ms,
        ttft_p99_high_ms=better.ttft_p99_high_ms,
        baseline_ttft_p99_ms=same.ttft_p99_ms,
        doubled_ttft_p99_ms=doubled.ttft_p99_ms,
        routing_gain=_over(same.ttft_p99_ms, target),
        memory_gain=_over(same.ttft_p99_ms, doubled.ttft_p99_ms),
        routing_over_memory=_over(doubled.ttft_p99_ms, target),
        kv_gib_replaced=None if at is None else at - pool,
        kv_gib_replaced_at_least=_least_pool(at, target, pool),
        kv_reached=at is not None,
        gpus_factor=gpus,
        gpus_factor_at_least=(gpus or GPU_FACTORS[-1]) if tried else None,
        gpus_reached=gpus is not None,
    )


def winner(better: float | None, same: float | None, doubled: float | None) -> Winner:
    """What lowers p99 TTFT more: a stable cell beats an unstable one, of equals the policy, which is free.

    Args:
        better: p99 under the better policy, null if unstable.
        same: p99 under the baseline.
        doubled: p99 under the baseline with twice the pool.
    """
    if better is None and doubled is None:
        return "overload"
    if better is None or doubled is None:
        return "memory" if better is None else "routing"
    gain = max(_over(same, better) or LEAST_GAIN, _over(same, doubled) or LEAST_GAIN)
    if gain < LEAST_GAIN:
        return "neither"
    return "routing" if better <= doubled * (1 + EQUAL) else "memory"


def _reached(target: float | None, cells: dict[float, FleetCellRow]) -> float | None:
    """Size at which the baseline is as fast as the target; unstable cells are never."""
    if target is None:
        return None
    curve = [Median(size, cell.ttft_p99_ms, cell.seeds) for size, cell in cells.items() if cell.ttft_p99_ms]
    start = min(cells)
    return pool_that_reaches(curve, start, target, EQUAL * target, -1.0)


def _gpus(
    target: float | None, same: FleetCellRow, curves: Curves, baseline: str, pool: float
) -> float | None:
    """Fleet of the baseline that is as fast, over the better policy's; tried for one pool only."""
    if baseline != BASELINE or pool != BASE_POOL_GIB:
        return None
    return _reached(target, {1.0: same} | curves.by_gpus)


def _least_pool(at: float | None, target: float | None, pool: float) -> float:
    if target is None:
        return 0.0
    return (POOLS_GIB[-1] if at is None else at) - pool


def _over(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below
