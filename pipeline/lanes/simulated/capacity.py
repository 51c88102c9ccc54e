"""GPUs for a request rate: the smallest fleet whose p99 TTFT holds an objective, by policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from pipeline.lanes.simulated.cells import SEEDS, GridCell, Traffic
from pipeline.lanes.simulated.grid import AWARE, BALANCED, BASELINE
from pipeline.lanes.simulated.serving import LLAMA_8B, LLAMA_70B, Steps
from pipeline.lanes.simulated.simulated_cell import simulate_cell
from pipeline.lanes.simulated.steps import step_table
from pipeline.lanes.simulated.workloads import workload
from pipeline.schemas.simulated import FleetCapacityRow, FleetCellRow
from pipeline.schemas.words import FleetPolicy

RATE_S, OBJECTIVE_MS, SECONDS = 10_000.0, 100.0, 8.0
SMALLEST, LARGEST, PRECISION = 64, 2048, 1.03
POOL_GIB = 32.0


@dataclass(frozen=True)
class Case:
    """A kind of request, and a policy."""

    serving: str
    prompt: int
    output: int
    shared: float
    prefixes: int
    policy: FleetPolicy


def cases() -> list[Case]:
    """Short and long prompts, with and without sharing, on a small and a large model."""
    kinds = (
        (LLAMA_8B.name, 512, 128, 0.0, 0),
        (LLAMA_8B.name, 2048, 128, 0.0, 0),
        (LLAMA_8B.name, 2048, 128, 0.75, 2048),
        (LLAMA_8B.name, 4096, 128, 0.0, 0),
        (LLAMA_8B.name, 4096, 128, 0.9375, 2048),
        (LLAMA_70B.name, 512, 128, 0.0, 0),
        (LLAMA_70B.name, 2048, 128, 0.75, 2048),
    )
    return [Case(*kind, policy) for kind in kinds for policy in (BASELINE, BALANCED, AWARE)]


def capacity_row(case: Case, steps: Steps, usd_per_gpu_hour: float) -> FleetCapacityRow:
    """Search the smallest fleet with one seed, then confirm it with all; a fleet that fails is enlarged."""
    made = cache(lambda seed: workload(_traffic(case), seed))
    tried = cache(lambda replicas: simulate_cell(_cell(case, replicas, SEEDS[:1]), made, steps))
    alone = prefill_ms(case, steps)
    if alone > OBJECTIVE_MS and not case.shared:
        return _row(case, None, None, alone, usd_per_gpu_hour, LARGEST)
    smallest = smallest_fleet(lambda replicas: holds(tried(replicas)))
    confirmed = None if smallest is None else _confirmed(case, smallest, made, steps)
    shown = confirmed or simulate_cell(_cell(case, LARGEST, SEEDS[:1]), made, steps)
    return _row(case, confirmed.replicas if confirmed else None, shown, alone, usd_per_gpu_hour, LARGEST)


def smallest_fleet(enough: Callable[[int], bool]) -> int | None:
    """Fewest replicas that are enough, to 3 %, by bisection; None where the largest fleet is not."""
    if not enough(LARGEST):
        return None
    low, high = SMALLEST, LARGEST
    if enough(low):
        return low
    while high / low > PRECISION:
        middle = max(low + 1, round(math.sqrt(low * high)))
        if middle >= high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def holds(row: FleetCellRow) -> bool:
    """Whether a cell is stable and its p99 TTFT within the objective."""
    return row.ttft_p99_ms is not None and row.ttft_p99_ms <= OBJECTIVE_MS


def prefill_ms(case: Case, steps: Steps) -> float:
    """Time of one prompt alone on a replica, nothing cached, ms."""
    table = step_table(_cell(case, 1, SEEDS).model, steps)
    return float(table.prefill_base_ms + table.prefill_at(case.prompt))


def _confirmed(case: Case, replicas: int, made: Callable[[int], object], steps: Steps) -> FleetCellRow | None:
    for more in (1.0, 1.03, 1.06):
        row = simulate_cell(_cell(case, math.ceil(replicas * more), SEEDS), made, steps)
        if holds(row):
            return row
    return None


def _traffic(case: Case) -> Traffic:
    plain = Traffic("unshared", RATE_S, int(RATE_S * SECONDS), prompt=case.prompt, output=case.output)
    if not case.shared:
        return plain
    return replace(plain, kind="prefixes", shared=case.shared, prefixes=case.prefixes, skew=0.8)


def _cell(case: Case, replicas: int, seeds: tuple[int, ...]) -> GridCell:
    return GridCell("capacity", _traffic(case), case.policy, replicas, POOL_GIB, case.serving, seeds=seeds)


def _row(
    case: Case, replicas: int | None, shown: FleetCellRow | None, alone: float, usd: float, largest: int
) -> FleetCapacityRow:
    gpus = None if replicas is None else replicas * _cell(case, 1, SEEDS).model.gpus
    return FleetCapacityRow(
        serving=case.serving,
        policy=case.policy,
        request_rate_s=RATE_S,
        prompt_tokens=case.prompt,
        output_tokens=case.output,
        shared_share=case.shared,
        prefixes=case.prefixes,
        objective_ms=OBJECTIVE_MS,
        met=replicas is not None,
        replicas=replicas,
        gpus=gpus,
        ttft_p99_ms=shown.ttft_p99_ms if shown else None,
        ttft_p99_low_ms=shown.ttft_p99_low_ms if shown else None,
        ttft_p99_high_ms=shown.ttft_p99_high_ms if shown else None,
        tpot_p50_ms=shown.tpot_p50_ms if shown else None,
        hit_rate=shown.hit_rate if shown else None,
        largest_tried=largest,
        prefill_ms=alone,
        usd_per_gpu_hour=usd,
        usd_per_request=None if gpus is None else gpus * usd / 3600 / RATE_S,
        seeds=shown.seeds if shown else 0,
    )
