"""The whole validation table: theory, conservation, reality, publications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np

from pipeline.fleet.arrivals import poisson
from pipeline.fleet.builders import sessions, zipf_prefixes
from pipeline.fleet.check import Check
from pipeline.fleet.config import EngineConfig, FleetConfig, RouterConfig
from pipeline.fleet.published import published_checks
from pipeline.fleet.replay import Cell, Requests, replay_checks
from pipeline.fleet.results import Results
from pipeline.fleet.simulate import simulate
from pipeline.fleet.steps import StepTable
from pipeline.fleet.theory import LOADS, QUEUES, Queue, ball_checks, lru_checks, queue_check
from pipeline.fleet.workload import Workload
from pipeline.schemas.words import FleetAdmission, FleetPolicy

POLICIES: tuple[FleetPolicy, ...] = ("power_of_two", "prefix_aware", "cache_aware", "kv_router")
RULES: tuple[FleetAdmission, ...] = ("recompute", "no_evict", "max_utilization")
_TABLE = StepTable.from_roofline(16, 128, 8, 3350, 989, source="roofline, 8B model on an H100")


Part = Callable[[], list[Check]]
REPLAYED = "stored runs"
"""The part that depends on measured runs."""


def parts(cells: Sequence[Cell], requests: Mapping[tuple[str, int], Requests]) -> dict[str, Part]:
    """Every comparison, in parts that can be computed one by one.

    Args:
        cells: rows of `observations` of the measured CPU lane.
        requests: columns of their requests by cell and repeat.

    Returns:
        Name to what computes its lines; parts that replay public traces raise InputError where these were not
        fetched.
    """
    queues = {
        f"{queue.name}, load {load}": partial(_queue, queue, load) for queue, load in product(QUEUES, LOADS)
    }
    return {
        "conservation": conservation_checks,
        "balls in bins": ball_checks,
        "LRU caches": lru_checks,
        REPLAYED: partial(replay_checks, cells, requests),
        "publications": published_checks,
        **queues,
    }


def _queue(queue: Queue, load: float) -> list[Check]:
    return [queue_check(queue, load)]


def told(checks: Sequence[Check]) -> str:
    """How many hold, in words."""
    held = [check for check in checks if check.passed is not None]
    return f"{sum(bool(check.passed) for check in held)} of {len(held)} within tolerance"


def conservation_checks() -> list[Check]:
    """What comes in comes out: every request once, every token, no time but that of steps."""
    runs = [(load, _run(policy, rule, load)) for policy, rule, load in _settings()]
    total = sum(load.requests for load, _ in runs)
    note = f"{len(runs)} fleets under memory pressure"
    return [
        _balance("requests that end once", total, sum(run.finished for _, run in runs), note),
        _balance(
            "requests that a replica counts",
            total,
            sum(int(run.replica_requests.sum()) for _, run in runs),
            note,
        ),
        _balance(
            "hit tokens, by request and by replica",
            sum(int(run.hit_tokens.sum()) for _, run in runs),
            sum(int(run.replica_hit_tokens.sum()) for _, run in runs),
            note,
        ),
        _balance("requests with more hits than prompt", 0, sum(_too_many(*run) for run in runs), note),
        _balance("replicas busy for longer than the run", 0, sum(_too_long(run) for _, run in runs), note),
        _balance("requests faster than their steps", 0, sum(_too_fast(*run) for run in runs), note),
    ]


def _balance(name: str, expected: int, measured: int, note: str) -> Check:
    gap = float(measured - expected)
    return Check("conservation", name, expected, measured, None, None, gap, 0.0, gap == 0, "exact", note)


def _settings() -> Iterator[tuple[FleetPolicy, FleetAdmission, Workload]]:
    shared = zipf_prefixes(
        poisson(60.0, requests=4000, seed=5),
        groups=40,
        prefix_tokens=2048,
        private_tokens=300,
        output_tokens=200,
        skew=1.0,
    )
    talks = sessions(
        sessions=500,
        turns=6,
        first_tokens=800,
        turn_tokens=200,
        output_tokens=150,
        think_s=2.0,
        start_rate_per_s=8.0,
        shared_prefix_tokens=512,
    )
    yield from product(POLICIES, RULES, (shared, talks))


def _run(policy: FleetPolicy, rule: FleetAdmission, load: Workload) -> Results:
    engine = EngineConfig(24_000, admission=rule, max_num_seqs=64)
    return simulate(FleetConfig(6, engine, RouterConfig(policy), drain_limit_s=1e9), _TABLE, load)


def _too_many(load: Workload, run: Results) -> int:
    return int((run.hit_tokens + run.offload_hit_tokens >= load.input_tokens).sum())


def _too_long(run: Results) -> int:
    return int((run.replica_busy_s > run.duration_s * (1 + 1e-9)).sum())


def _too_fast(load: Workload, run: Results) -> int:
    least = (load.output_tokens - 1) * _TABLE.decode_ms[0, 0]
    return int(np.sum(run.e2e_ms - run.ttft_ms < least - 1e-6))
