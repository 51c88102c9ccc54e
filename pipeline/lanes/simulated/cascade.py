"""Small model first: GPUs and latency by the part of requests that a large model must answer.

Both fleets are sized to hold the same p99 TTFT, each for its own load. `after` reads the small answer and
then asks the large model; `before` guesses from the prompt, and the guess is free and right. How good
answers are is not simulated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from pipeline.fleet import open_loop, poisson, simulate
from pipeline.lanes.simulated.cells import SEEDS, GridCell, Traffic
from pipeline.lanes.simulated.grid import BALANCED
from pipeline.lanes.simulated.serving import LLAMA_8B, LLAMA_70B, Serving, Steps
from pipeline.lanes.simulated.simulated_cell import WARM_UP, fleet_config, simulate_cell
from pipeline.lanes.simulated.steps import step_table
from pipeline.lanes.simulated.workloads import workload
from pipeline.schemas.simulated import FleetCascadeRow

RATE_S, REQUESTS = 200.0, 12_000
PROMPT, OUTPUT = 1024, 256
OBJECTIVE_MS = 500.0
POOL_GIB = {LLAMA_8B.name: 48.0, LLAMA_70B.name: 200.0}
ESCALATIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TRIAL_REPLICAS = 16


@dataclass(frozen=True)
class Served:
    """Replicas of one fleet, and the time to first token and to the end of each of its requests."""

    ttft_ms: Any
    e2e_ms: Any


@dataclass(frozen=True)
class Gpus:
    """GPUs of the small fleet, of the large one, and of the large model alone."""

    small: int
    large: int
    large_only: int

    @property
    def both(self) -> int:
        """GPUs of the cascade."""
        return self.small + self.large


def cascade_rows(steps: Mapping[str, Steps], usd_per_gpu_hour: float) -> Iterator[FleetCascadeRow]:
    """Rows over escalation and judge."""
    small, large = LLAMA_8B, LLAMA_70B
    load = {each.name: most_load(each, steps[each.name]) for each in (small, large)}
    alone = fleet(large, RATE_S, load)
    baseline = [_serve(large, alone, _arrivals(seed), seed, steps) for seed in SEEDS]
    only = median(_p99(each.ttft_ms) for each in baseline)
    for judge in ("after", "before"):
        for escalation in ESCALATIONS:
            first = fleet(small, RATE_S if judge == "after" else RATE_S * (1 - escalation), load)
            second = fleet(large, RATE_S * escalation, load)
            waits = [_waits(judge, escalation, first, second, seed, steps) for seed in SEEDS]
            gpus = Gpus(first * small.gpus, second * large.gpus, alone * large.gpus)
            yield _row(judge, escalation, gpus, waits, only, usd_per_gpu_hour)


def fleet(serving: Serving, rate_s: float, load: dict[str, float]) -> int:
    """Replicas that a load needs."""
    return math.ceil(rate_s / load[serving.name] - 1e-9)


def most_load(serving: Serving, steps: Steps) -> float:
    """Most requests a second and replica at which p99 TTFT stays within the objective, to 2 %."""
    low, high = 0.25, 64.0
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _holds(serving, middle, steps) else (low, middle)
    return low


def _holds(serving: Serving, load: float, steps: Steps) -> bool:
    traffic = Traffic("unshared", load * TRIAL_REPLICAS, REQUESTS, prompt=PROMPT, output=OUTPUT)
    cell = GridCell(
        "cascade", traffic, BALANCED, TRIAL_REPLICAS, POOL_GIB[serving.name], serving.name, seeds=SEEDS[:1]
    )
    row = simulate_cell(cell, lambda seed: workload(traffic, seed), steps)
    return row.ttft_p99_ms is not None and row.ttft_p99_ms <= OBJECTIVE_MS


def _waits(
    judge: str, escalation: float, first: int, second: int, seed: int, steps: Mapping[str, Steps]
) -> Any:
    """Time to the first token that a user keeps, ms, one a request after warm-up."""
    arrivals = _arrivals(seed)
    up = np.random.default_rng(seed + 7).random(len(arrivals)) < escalation
    waits = np.full(len(arrivals), np.nan)
    if judge == "after":
        small = _serve(LLAMA_8B, first, arrivals, seed, steps)
        waits[:], late = small.ttft_ms, arrivals + small.e2e_ms / 1000
    else:
        late = arrivals
        if not up.all():
            waits[~up] = _serve(LLAMA_8B, first, arrivals[~up], seed, steps).ttft_ms
    if up.any():
        order = np.argsort(late[up], kind="stable")
        large = _serve(LLAMA_70B, second, late[up][order], seed, steps)
        kept = np.empty(len(order))
        kept[order] = large.ttft_ms
        waits[up] = (late[up] - arrivals[up]) * 1000 + kept
    return waits[int(WARM_UP * len(waits)) :]


def _arrivals(seed: int) -> Any:
    return poisson(RATE_S, requests=REQUESTS, seed=seed)


def _serve(serving: Serving, replicas: int, arrivals: Any, seed: int, steps: Mapping[str, Steps]) -> Served:
    outputs = np.clip(np.random.default_rng(seed + 1).geometric(1 / OUTPUT, len(arrivals)), 1, 4 * OUTPUT)
    traffic = Traffic("unshared", RATE_S, len(arrivals), prompt=PROMPT, output=OUTPUT)
    cell = GridCell("cascade", traffic, BALANCED, replicas, POOL_GIB[serving.name], serving.name)
    ended = simulate(
        fleet_config(cell, seed),
        step_table(serving, steps[serving.name]),
        open_loop(arrivals, PROMPT, outputs),
    )
    return Served(np.asarray(ended.ttft_ms), np.asarray(ended.e2e_ms))


def _p99(waits: Any) -> float:
    return float(np.nanpercentile(waits, 99))


def _row(
    judge: str, escalation: float, gpus: Gpus, waits: list[Any], only_p99: float, usd: float
) -> FleetCascadeRow:
    tails, price = [_p99(each) for each in waits], usd / 3600 / RATE_S
    return FleetCascadeRow(
        judge=judge,
        escalation=escalation,
        small=LLAMA_8B.name,
        large=LLAMA_70B.name,
        request_rate_s=RATE_S,
        small_gpus=gpus.small,
        large_gpus=gpus.large,
        gpus=gpus.both,
        large_only_gpus=gpus.large_only,
        saving=1 - gpus.both / gpus.large_only,
        ttft_p50_ms=float(median(np.nanpercentile(each, 50) for each in waits)),
        ttft_p99_ms=float(median(tails)),
        ttft_p99_low_ms=min(tails),
        ttft_p99_high_ms=max(tails),
        large_only_ttft_p99_ms=only_p99,
        usd_per_request=gpus.both * price,
        saving_usd_per_request=(gpus.large_only - gpus.both) * price,
        seeds=len(waits),
    )
