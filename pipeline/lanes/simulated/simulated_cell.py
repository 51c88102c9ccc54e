"""One cell: simulate each seed, and put the seeds into one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from pipeline.fleet import EngineConfig, FleetConfig, RouterConfig, simulate
from pipeline.lanes.simulated.cells import GridCell
from pipeline.lanes.simulated.serving import Steps
from pipeline.lanes.simulated.steps import step_table
from pipeline.lanes.simulated.workloads import regions_of
from pipeline.schemas.simulated import FleetCellRow

WARM_UP, SPILL = 0.3, 24.0
"""Part of the requests that fills the caches and is left out; requests a replica at which a region spills."""


def fleet_config(cell: GridCell, seed: int) -> FleetConfig:
    """The simulator's configuration of a cell."""
    router: dict[str, Any] = {"inner": cell.inner, "spill_outstanding": SPILL} if cell.inner else {}
    return FleetConfig(
        replicas=cell.replicas,
        engine=EngineConfig(kv_pool_tokens=cell.model.pool_tokens(cell.pool_gib)),
        router=RouterConfig(
            policy=cell.policy, view_delay_ms=cell.view_delay_ms, hash_key=cell.hash_key, **router
        ),
        regions=regions_of(cell.traffic, cell.replicas),
        seed=seed,
    )


def simulate_cell(cell: GridCell, workload: Callable[[int], Any], steps: Steps) -> FleetCellRow:
    """Simulate all seeds of a cell.

    Args:
        cell: the cell.
        workload: requests by seed; shared by cells with equal traffic.
        steps: step times.
    """
    table = step_table(cell.model, steps)
    ended = [simulate(fleet_config(cell, seed), table, workload(seed)) for seed in cell.seeds]
    return row(cell, ended)


def row(cell: GridCell, ended: Sequence[Any]) -> FleetCellRow:
    """The seeds of a cell in one row. Unstable cells have no latency: it grows as long as they last."""
    reason = unstable_reason(cell, ended)
    steady = [each.steady(WARM_UP) for each in ended]
    return FleetCellRow.model_validate(
        _knobs(cell)
        | {"status": "unstable" if reason else "ok", "reason": reason}
        | _latencies([] if reason else steady)
        | _counts(cell, ended, steady)
    )


def unstable_reason(cell: GridCell, ended: Sequence[Any]) -> str | None:
    """Why there is no latency; None for a stable cell. Most seeds decide: one may end on a burst."""
    if 2 * sum(each.unstable for each in ended) <= len(ended):
        return None
    waiting = int(median(each.backlog_at_end for each in ended))
    return (
        f"{cell.traffic.rate_s:.4g} requests/s offered, {waiting} of {cell.traffic.requests} "
        "still waiting when arrivals end: the queue grows as long as it lasts"
    )


def _knobs(cell: GridCell) -> dict[str, Any]:
    traffic, several = cell.traffic, cell.traffic.regions > 1
    pool = cell.model.pool_tokens(cell.pool_gib)
    return {
        "cell": cell.id,
        "experiment": cell.experiment,
        "traffic": traffic.kind,
        "policy": cell.policy,
        "serving": cell.serving,
        "gpus_per_replica": cell.model.gpus,
        "replicas": cell.replicas,
        "kv_pool_gib": cell.pool_gib,
        "kv_pool_tokens": pool,
        "load_per_replica_s": traffic.rate_s / cell.replicas,
        "request_rate_s": traffic.rate_s,
        "prompt_tokens": traffic.prompt,
        "output_tokens": traffic.output,
        "shared_share": traffic.shared,
        "prefixes": traffic.prefixes,
        "skew": traffic.skew,
        "working_set_pools": traffic.prefixes * traffic.prefix_tokens / pool,
        "view_delay_ms": cell.view_delay_ms,
        "regions": traffic.regions,
        "regional_share": traffic.regional_share if several else None,
        "peak_to_mean": traffic.peak_to_mean if several else None,
        "requests": traffic.requests,
        "seeds": len(cell.seeds),
    }


def _latencies(steady: Sequence[Any]) -> dict[str, float | None]:
    tail = _middle(steady, "ttft_ms", 99)
    return {
        "ttft_p50_ms": _middle(steady, "ttft_ms", 50)[1],
        "ttft_p90_ms": _middle(steady, "ttft_ms", 90)[1],
        "ttft_p99_low_ms": tail[0],
        "ttft_p99_ms": tail[1],
        "ttft_p99_high_ms": tail[2],
        "tpot_p50_ms": _middle(steady, "tpot_ms", 50)[1],
        "e2e_p50_ms": _middle(steady, "e2e_ms", 50)[1],
    }


def _middle(
    steady: Sequence[Any], column: str, share: float
) -> tuple[float | None, float | None, float | None]:
    """Smallest, median and largest seed; None where a seed has too few observations."""
    found = [each.percentile(column, share) for each in steady]
    values = [float(each) for each in found if each is not None]
    if not values or len(values) < len(found):
        return None, None, None
    return min(values), float(median(values)), max(values)


def _counts(cell: GridCell, ended: Sequence[Any], steady: Sequence[Any]) -> dict[str, Any]:
    offered = cell.traffic.requests
    blocks = cell.model.pool_tokens(cell.pool_gib) / 16
    found: dict[str, Any] = _spread("hit_rate", [each.hit_rate for each in steady])
    found |= _spread("imbalance", [each.imbalance for each in ended])
    found["utilisation"] = float(median(each.utilisation for each in ended))
    found["rejected_share"] = float(median(each.rejected for each in ended)) / offered
    found["preempted_share"] = float(median(each.preemptions_total for each in ended)) / offered
    found["peak_kv_share"] = float(median(max(each.replica_peak_kv_blocks) / blocks for each in ended))
    return found | _crossing(cell, ended)


def _crossing(cell: GridCell, ended: Sequence[Any]) -> dict[str, float | None]:
    if cell.traffic.regions == 1:
        return {"cross_region_share": None, "cross_region_bytes": None}
    shares = [1 - each.traffic_requests.trace() / each.traffic_requests.sum() for each in ended]
    moved = [_bytes(each) for each in ended]
    return {
        "cross_region_share": float(median(shares)),
        "cross_region_bytes": float(median(moved)),
    }


def _bytes(ended: Any) -> float:
    """Bytes of prompts and answers that leave their region, a request."""
    home = np.repeat(np.arange(len(ended.regions.names)), ended.regions.replicas)
    away = (ended.replica >= 0) & (ended.region != home[np.maximum(ended.replica, 0)])
    there = ended.regions.bytes_there(ended.input_tokens[away]).sum()
    return float((there + ended.regions.bytes_back(ended.output_tokens[away]).sum()) / len(away))


def _spread(name: str, found: Sequence[float | None]) -> dict[str, float | None]:
    """Smallest, median and largest seed; missing where a seed has no value, as when nothing was admitted."""
    values = [float(each) for each in found if each is not None]
    if len(values) < len(found):
        return {f"{name}_low": None, name: None, f"{name}_high": None}
    return {f"{name}_low": min(values), name: float(median(values)), f"{name}_high": max(values)}
