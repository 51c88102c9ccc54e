"""Real runs played again: the stored requests of two real engines behind a real router, in the simulator.

Requests have the lengths and the shared texts they had in the run. They come as they came there: the first at
their times, every other one as long after the end of the request whose place it took as it did there. The
simulator decides where each goes and what is found cached. Step times are fitted on runs without a router.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from pipeline.errors import InputError
from pipeline.fleet.check import Check, compared
from pipeline.fleet.config import EngineConfig, FleetConfig, RouterConfig
from pipeline.fleet.results import Results
from pipeline.fleet.simulate import simulate
from pipeline.fleet.steps import StepTable
from pipeline.fleet.workload import Floats, Ints, Workload

Cell = Mapping[str, Any]
"""A row of `observations`: one run of one setting."""
Requests = Mapping[str, Sequence[Any]]
"""The columns of its requests, in the order they were sent."""

MOST_SEQUENCES = 256
MOST_TOKENS = 2048
"""Tokens of a step: the default of the engine on a CPU."""
POINTS = 0.02
"""Hit rates must agree within two points."""
TIES = {"hit rate": 0.02, "balance": 0.1}
"""Policies whose measured means lie nearer than this have no order: runs of one setting differ as much."""
SEEDS = 8
"""Simulations of each run: choices by chance fall differently, as they do from run to run."""


@dataclass(frozen=True)
class Replay:
    """One run, real and simulated."""

    cell: Cell
    hit_rate: float
    imbalance: float
    ttft_mean_ms: float


def workload_of(cell: Cell, requests: Requests) -> Workload:
    """The stored requests as a workload; KV blocks are the hash blocks.

    A request's text is its prefix (by its number), or all turns of its session, and then text of its own.
    """
    block = int(cell["kv_pool_tokens"]) // int(cell["kv_pool_blocks"])
    order = np.argsort(np.asarray(requests["arrival_s"], np.float64), kind="stable")
    columns = {name: np.asarray(values)[order] for name, values in requests.items()}
    prompt = columns["input_tokens"].astype(np.int32)
    output = columns["output_tokens"].astype(np.int32)
    sessions = {name: number for number, name in enumerate(dict.fromkeys(columns["session_id"]))}
    session = np.array([sessions[name] for name in columns["session_id"]], np.int32)
    shared = int(cell["prefix_tokens"]) // block
    blocks = (prompt + output) // block
    ids = _Ids()
    prefixes = np.nan_to_num(columns["prefix_id"].astype(np.float64), nan=-1).astype(np.int32)
    chain = [
        ids.of(("prefix", int(prefix), at) if at < shared and prefix >= 0 else ("session", int(one), at))
        for prefix, one, count in zip(prefixes, session, blocks, strict=True)
        for at in range(count)
    ]
    none = np.full(prompt.size, -1, np.int32)
    arrival = columns["arrival_s"].astype(np.float64)
    end = arrival + columns["e2e_ms"].astype(np.float64) / 1000
    after = predecessors(arrival, end, session)
    follows = after >= 0
    return Workload(
        arrival_s=np.where(follows, np.nan, arrival),
        input_tokens=prompt,
        output_tokens=output,
        max_output_tokens=output,
        chain_start=np.cumsum(blocks, dtype=np.int64) - blocks,
        chain_blocks=blocks,
        chain_ids=np.array(chain, np.int32),
        session=session,
        group=none,
        region=none,
        after=after,
        think_s=np.where(follows, np.maximum(arrival - end[after], 0.0), 0.0),
        hash_block_tokens=block,
    )


def predecessors(arrival: Floats, end: Floats, session: Ints) -> Ints:
    """Whose end set each request off: the turn before, or the last request to end that set nothing else off.

    Args:
        arrival: s, ordered.
        end: s.
        session: number of each request's session.

    Returns:
        Index of that request, -1 where none had ended.
    """
    before = _turns_before(session)
    ended: list[tuple[float, int]] = []
    free: list[int] = []
    after = before.copy()
    continued = set(before.tolist())
    for one in range(arrival.size):
        while ended and ended[0][0] <= arrival[one]:
            free.append(heapq.heappop(ended)[1])
        if before[one] < 0 and free:
            after[one] = free.pop()
        if one not in continued:
            heapq.heappush(ended, (float(end[one]), one))
    return after


def _turns_before(session: Ints) -> Ints:
    """The same session's request before each, -1 for none."""
    last: dict[int, int] = {}
    found = np.full(session.size, -1, np.int32)
    for one, number in enumerate(session.tolist()):
        found[one] = last.get(number, -1)
        last[number] = one
    return found


class _Ids:
    """Numbers for texts, in the order they are met."""

    def __init__(self) -> None:
        self._known: dict[object, int] = {}

    def of(self, text: object) -> int:
        return self._known.setdefault(text, len(self._known))


def fit_steps(cells: Sequence[Cell], model: str) -> StepTable:
    """A step table from runs of one engine, without a router or alone at a time.

    Decode times are the median time a token by concurrency; the prefill line goes through the mean prefill
    times of prompts of which nothing was cached. Contexts are short in these runs: one column stands for all.

    Raises:
        InputError: no run of this model to fit.
    """
    mine = [
        cell
        for cell in cells
        if cell["model"] == model
        and cell["phase"] == "whole"
        and cell["experiment"] in ("batch", "prefix", "miss_cost")
    ]
    alone = [cell for cell in mine if not cell["prefix_hit_rate"] and cell["tpot_p50_ms"] is not None]
    if not alone:
        raise InputError(f"no run of {model} to fit step times on", where="observations")
    steps = [cell for cell in alone if cell["experiment"] != "prefix"]
    batches = sorted({int(cell["concurrency"]) for cell in steps})
    ms = [_mean(steps, "tpot_p50_ms", lambda cell, b=b: cell["concurrency"] == b) for b in batches]
    prompts = sorted({_tokens(cell) for cell in alone})
    times = [_mean(alone, "prefill_mean_ms", lambda cell, p=p: _tokens(cell) == p) for p in prompts]
    if len(prompts) == 1:
        prompts, times = [0, *prompts], [0.0, *times]
    return StepTable.from_grid(
        [1, *batches[1:]],
        [1],
        [[one] for one in np.maximum.accumulate(ms)],
        prompts,
        times,
        source=f"runs of {model} on this project's machine",
    )


def _tokens(cell: Cell) -> int:
    return int(cell["prompt_tokens_each"]) + int(cell["prefix_tokens"] or 0)


def _mean(cells: Sequence[Cell], column: str, wanted: Any) -> float:
    return fmean(float(cell[column]) for cell in cells if wanted(cell))


def replay(cell: Cell, requests: Requests, table: StepTable) -> Replay:
    """Simulate the run: the same policy, pool and requests; means over seeds."""
    load = workload_of(cell, requests)
    engine = EngineConfig(
        kv_pool_tokens=int(cell["kv_pool_tokens"]),
        block_tokens=load.hash_block_tokens,
        max_num_seqs=MOST_SEQUENCES,
        max_num_batched_tokens=MOST_TOKENS,
        visible="admission",
    )
    router = RouterConfig(cell["policy"], hash_key="session")
    found: list[Results] = [
        simulate(FleetConfig(int(cell["replicas"]), engine, router, seed=seed), table, load)
        for seed in range(1, SEEDS + 1)
    ]
    return Replay(
        cell,
        fmean(one.hit_rate or 0.0 for one in found),
        fmean(one.imbalance for one in found),
        fmean(one.mean("ttft_ms") or 0.0 for one in found),
    )


def replay_checks(cells: Sequence[Cell], requests: Mapping[tuple[str, int], Requests]) -> list[Check]:
    """Every stored routing run, real against simulated.

    Args:
        cells: rows of `observations` of the measured lane.
        requests: columns of the requests by cell and repeat.

    Returns:
        Hit rate (within two points), balance and TTFT (both reported) of each setting, means over its runs;
        and for each traffic whether policies come in the same order.
    """
    wanted = [
        cell
        for cell in cells
        if cell["policy"] is not None
        and cell["phase"] == "whole"
        and cell["status"] == "ok"
        and cell["answers_render"]
        and (cell["cell_id"], cell["repeat"]) in requests
    ]
    tables = {model: fit_steps(cells, model) for model in sorted({str(cell["model"]) for cell in wanted})}
    groups: dict[tuple[Any, ...], list[Replay]] = {}
    for cell in wanted:
        key = (cell["experiment"], cell["traffic"], int(cell["kv_pool_blocks"]), cell["policy"])
        made = replay(cell, requests[cell["cell_id"], cell["repeat"]], tables[cell["model"]])
        groups.setdefault(key, []).append(made)
    lines = [line for key in sorted(groups) for line in _setting(key, groups[key])]
    return lines + _orders(groups)


_SOURCE = "measured on CPU: two vLLM behind vllm-router"
_MEANS: dict[str, tuple[str, str]] = {
    "hit rate": ("prefix_hit_rate", "hit_rate"),
    "balance": ("imbalance", "imbalance"),
    "mean TTFT (ms)": ("ttft_mean_ms", "ttft_mean_ms"),
}
"""What is compared: its column in `observations`, and in `Replay`."""


def _means(runs: list[Replay], name: str) -> tuple[float, float]:
    """Measured and simulated mean over the runs of a setting."""
    real, ours = _MEANS[name]
    return fmean(float(run.cell[real]) for run in runs), fmean(getattr(run, ours) for run in runs)


def _setting(key: tuple[Any, ...], runs: list[Replay]) -> list[Check]:
    experiment, traffic, blocks, policy = key
    setting = f"{experiment}, {traffic}, {blocks} blocks, {policy}"
    rates = [float(run.cell["prefix_hit_rate"]) for run in runs]
    note = f"{len(runs)} runs, {min(rates):.3f} to {max(rates):.3f}; {SEEDS} simulations of each"
    lines = [
        compared(
            ("replayed run, hit rate", setting),
            *_means(runs, "hit rate"),
            POINTS,
            _SOURCE,
            absolute=True,
            note=note,
        )
    ]
    return lines + [
        compared((f"replayed run, {name}", setting), *_means(runs, name), None, _SOURCE)
        for name in ("balance", "mean TTFT (ms)")
    ]


def _orders(groups: Mapping[tuple[Any, ...], list[Replay]]) -> list[Check]:
    """For each traffic: pairs of policies that differ as measured, and how many come in that order."""
    lines = []
    for name, tie in TIES.items():
        for setting in sorted({key[:3] for key in groups}):
            means = {key[3]: _means(runs, name) for key, runs in groups.items() if key[:3] == setting}
            pairs = _pairs(means, tie)
            if not pairs:
                continue
            agreed = sum((one[0] > other[0]) == (one[1] > other[1]) for one, other in pairs)
            lines.append(
                compared(
                    (f"replayed run, order by {name}", "{}, {}, {} blocks".format(*setting)),
                    len(pairs),
                    agreed,
                    0.0,
                    _SOURCE,
                    absolute=True,
                    note=f"pairs of policies whose measured means differ by more than {tie}",
                )
            )
    return lines


def _pairs(means: Mapping[str, tuple[float, float]], tie: float) -> list[tuple[Any, Any]]:
    return [
        (means[one], means[other])
        for one, other in combinations(sorted(means), 2)
        if abs(means[one][0] - means[other][0]) > tie
    ]
