"""The simulator against results that are exact or proven: queues, choices, caches.

A replica becomes a single-server queue, exactly, when it serves one request at a time (`max_num_seqs` 1)
whose answer is one token and whose prompt is computed in one step: the service time is then the prompt's
length, first come, first served. Times are in mean service times.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from pipeline.fleet.arrivals import poisson
from pipeline.fleet.builders import open_loop
from pipeline.fleet.check import Check, compared, half_width
from pipeline.fleet.config import EngineConfig, FleetConfig, RouterConfig
from pipeline.fleet.simulate import simulate
from pipeline.fleet.steps import StepTable
from pipeline.fleet.traces import MOONCAKE_BLOCK_TOKENS, mooncake, trace_path
from pipeline.fleet.workload import Floats, Ints, Workload
from pipeline.schemas.words import FleetPolicy

GRAIN = 10_000
"""Tokens of the mean service time: exponential times are rounded to a ten-thousandth of it."""
LOADS = (0.5, 0.7, 0.9, 0.95)
WARM = 0.25
"""First share of a run's requests that is left out."""
BATCHES = 20
"""Parts of a run whose means count as independent."""
CACHE_TOKENS = (1_000_000, 3_000_000, 10_000_000, 30_000_000)


def mm1(load: float) -> float:
    """Mean time in an M/M/1 queue, in service times."""
    return 1 / (1 - load)


def md1(load: float) -> float:
    """Mean time in an M/D/1 queue, in service times (Pollaczek and Khinchine)."""
    return 1 + load / (2 * (1 - load))


def two_choices(load: float) -> float:
    """Mean time with the better of two random queues, many servers (Mitzenmacher, IEEE TPDS 2001)."""
    return math.fsum(load ** (2**i - 2) for i in range(1, 40))


def shortest_of_two(load: float, most: int = 150) -> float:
    """Mean time when arrivals join the shorter of two queues, by solving the chain of their lengths.

    Args:
        load: of each server.
        most: longest queue that is followed; states beyond have a weight below 1e-6 at a load of 0.95.
    """
    states = {
        state: number for number, state in enumerate((a, b) for a in range(most + 1) for b in range(most + 1))
    }
    rates = [(states[old], states[new], rate) for old in states for new, rate in _moves(old, load, most)]
    rows, columns, values = (np.array(column) for column in zip(*rates, strict=True))
    size = len(states)
    flow = sparse.coo_matrix((values, (columns, rows)), shape=(size, size)).tolil()
    flow.setdiag(-np.bincount(rows, weights=values, minlength=size))
    flow[0, :] = 1.0
    share = spsolve(flow.tocsc(), np.eye(1, size)[0])
    waiting = sum((a + b) * share[number] for (a, b), number in states.items())
    return float(waiting / (2 * load))


def _moves(state: tuple[int, int], load: float, most: int) -> Iterator[tuple[tuple[int, int], float]]:
    """Where the chain can go from a state, and how fast."""
    a, b = state
    if a < most or b < most:
        if a == b:
            yield (a + 1, b), load
            yield (a, b + 1), load
        else:
            yield ((a + 1, b) if a < b else (a, b + 1)), 2 * load
    if a > 0:
        yield (a - 1, b), 1.0
    if b > 0:
        yield (a, b - 1), 1.0


def most_balls(bins: int) -> float:
    """Expected largest number of balls when as many balls as bins fall at random (exact, multinomial).

    P(largest <= k) is n! / n^n times the coefficient of x^n in (sum over j <= k of x^j / j!)^n.
    """
    expected, most = 0.0, 0
    while True:
        below = _no_more_than(most, bins)
        if below > 1 - 1e-12:
            return expected
        expected += 1 - below
        most += 1


def _no_more_than(most: int, bins: int) -> float:
    # Weights of a Poisson number of mean one make the coefficient a probability.
    weights = np.array([math.exp(-1) / math.factorial(j) for j in range(most + 1)])
    power, base, left = np.ones(1), weights, bins
    while left:
        if left & 1:
            power = np.convolve(power, base)[: bins + 1]
        base = np.convolve(base, base)[: bins + 1]
        left >>= 1
    if power.size <= bins:
        return 0.0
    exactly = bins * math.log(bins) - bins - math.lgamma(bins + 1)
    return float(power[bins] / math.exp(exactly))


def shares_of_two(balls_per_bin: float = 1.0, most: int = 12, steps: int = 20_000) -> list[float]:
    """Share of bins with at least 1, 2, ... balls, each ball in the emptier of two random bins, many bins.

    The fluid limit d s_i / dt = s_(i-1)^2 - s_i^2 (Mitzenmacher 2001), by the midpoint rule.
    """
    share = np.zeros(most + 1)
    share[0] = 1.0

    def slope(now: Floats) -> Floats:
        return np.append(0.0, now[:-1] ** 2 - now[1:] ** 2)

    step = balls_per_bin / steps
    for _ in range(steps):
        share = share + step * slope(share + step / 2 * slope(share))
    return [float(one) for one in share[1:]]


@dataclass(frozen=True)
class Queue:
    """One queueing check: policy, fleet, service times, and what theory says."""

    name: str
    policy: FleetPolicy
    replicas: int
    even: bool
    known: Callable[[float], float]
    requests: Callable[[float], int]
    source: str
    note: str = ""


def _single(load: float) -> int:
    """Requests that bring the interval of M/M/1's mean to one per cent (Whitt, Operations Research 1989)."""
    return int(1.3 * 1.96**2 * 2 * (1 + load) / (1 - load) ** 2 / 0.01**2)


QUEUES = (
    Queue("M/M/1, random split", "random", 64, False, mm1, _single, "exact"),
    Queue(
        "M/D/1, random split", "random", 64, True, md1, lambda load: _single(load) // 2, "Pollaczek-Khinchine"
    ),
    Queue(
        "power of two choices",
        "power_of_two",
        256,
        False,
        two_choices,
        lambda load: int(3e5 / (1 - load)),
        "Mitzenmacher, IEEE TPDS 12 (2001), series for many servers",
        "256 servers lie above the limit of infinitely many: about 0.3 % at load 0.5 and 1.1 % at 0.95",
    ),
    Queue(
        "join the shortest of two",
        "least_outstanding",
        2,
        False,
        shortest_of_two,
        _single,
        "the chain of both lengths, solved here",
    ),
)


def queue_check(queue: Queue, load: float, effort: float = 1.0, at_once: int = 3_000_000) -> Check:
    """Mean time in the system, from as many runs as the interval needs."""
    wanted = max(200_000, int(queue.requests(load) * effort))
    runs = -(-wanted // at_once)
    means = [
        mean for run in range(runs) for mean in _batch_means(queue, load, min(wanted, at_once), seed=run + 1)
    ]
    return compared(
        (queue.name, f"load {load}"),
        queue.known(load),
        float(np.mean(means)),
        0.02 if load <= 0.9 else 0.04,
        queue.source,
        spread=half_width(means),
        note=f"{queue.replicas} servers, {runs * min(wanted, at_once):,} requests. {queue.note}".strip(),
    )


def _batch_means(queue: Queue, load: float, requests: int, seed: int) -> list[float]:
    """Mean times of the parts of one run after its warm-up."""
    lengths = _lengths(requests, queue.even, seed)
    arrivals = poisson(load * queue.replicas, requests=requests, seed=1000 + seed)
    found = simulate(
        single_servers(queue.replicas, queue.policy, seed), _SERVICE, open_loop(arrivals, lengths, 1)
    )
    steady = found.e2e_ms[int(WARM * requests) :] / 1000
    return [float(part.mean()) for part in np.array_split(steady, BATCHES)]


def _lengths(requests: int, even: bool, seed: int) -> Ints:
    """Service times as prompt lengths."""
    if even:
        return np.full(requests, GRAIN, np.int32)
    drawn = np.random.default_rng(2000 + seed).standard_exponential(requests)
    rounded: Ints = np.maximum(1, np.rint(drawn * GRAIN)).astype(np.int32)
    return rounded


_SERVICE = StepTable.constant(
    0.0, 1000.0 / GRAIN, 0.0, source="one service time for each ten thousand tokens"
)


def single_servers(replicas: int, policy: FleetPolicy, seed: int = 1) -> FleetConfig:
    """A fleet of single-server queues."""
    engine = EngineConfig(
        kv_pool_tokens=2**30,
        block_tokens=256,
        max_num_seqs=1,
        max_num_batched_tokens=2**30,
        prefix_caching=False,
    )
    return FleetConfig(replicas, engine, RouterConfig(policy), seed=seed, drain_limit_s=1e12)


def ball_checks(throws: int = 400) -> list[Check]:
    """As many requests as replicas, all at once: how uneven one and two choices leave them."""
    found = []
    for bins in (64, 512):
        loads = [_thrown(bins, bins, "random", seed) for seed in range(throws)]
        most = [float(load.max()) for load in loads]
        found.append(
            compared(
                ("balls in bins, largest of one choice", f"{bins} replicas"),
                most_balls(bins),
                float(np.mean(most)),
                0.02,
                "exact, multinomial",
                spread=half_width(most),
            )
        )
    loads = [_thrown(4096, 4096, "power_of_two", seed) for seed in range(20)]
    for least, share in enumerate(shares_of_two()[:3], 1):
        parts = [float((load >= least).mean()) for load in loads]
        found.append(
            compared(
                ("balls in bins, two choices", f"share of replicas with {least} or more"),
                share,
                float(np.mean(parts)),
                0.02,
                "fluid limit, Mitzenmacher (2001)",
                spread=half_width(parts),
                note="4,096 replicas; two different ones are drawn, the limit draws with replacement",
            )
        )
    return found


def _thrown(bins: int, balls: int, policy: FleetPolicy, seed: int) -> Any:
    load = open_loop(np.arange(balls) * 1e-9, GRAIN, 1)
    config = replace(single_servers(bins, policy, seed), drain_limit_s=0.0)
    return simulate(config, _SERVICE, load).replica_requests


def lru_checks(sizes: Iterable[int] = CACHE_TOKENS) -> list[Check]:
    """Hit rates of both Mooncake traces in one cache, in order, against an LRU list; and their ceilings."""
    found = []
    for name, ceiling in (("mooncake-conversation", 0.374), ("mooncake-synthetic", 0.651)):
        path = trace_path(name)
        load = mooncake(path)
        found += [
            compared(
                ("LRU cache, one replica", f"{name}, {tokens / 1e6:g} M tokens"),
                round(lru_hit_rate(load, tokens), 4),
                round(simulated_hit_rate(load, tokens), 4),
                0.00005,
                "an ordered dictionary, trimmed at its old end",
                absolute=True,
                note="hit tokens over prompt tokens; full blocks of 512 tokens",
            )
            for tokens in sizes
        ]
        found.append(
            compared(
                ("ceiling of the trace", name),
                ceiling,
                unlimited_hit_rate(path),
                0.0005,
                "published trace, every block kept for ever",
                absolute=True,
                note=f"with full blocks only, as an engine caches, {simulated_hit_rate(load, None):.4f}",
            )
        )
    return found


def lru_hit_rate(load: Workload, tokens: int) -> float:
    """Hit tokens over prompt tokens of a cache of so many tokens, requests one after the other."""
    size, cache, hits = load.hash_block_tokens, OrderedDict[int, None](), 0
    for start, count in zip(load.chain_start, load.chain_blocks, strict=True):
        chain = [int(one) for one in load.chain_ids[start : start + count]]
        hits += next((at for at, block in enumerate(chain) if block not in cache), len(chain))
        for block in reversed(chain):
            cache[block] = None
            cache.move_to_end(block)
        while len(cache) > tokens // size:
            cache.popitem(last=False)
    return hits * size / float(load.input_tokens.sum(dtype=np.int64))


def simulated_hit_rate(load: Workload, tokens: int | None) -> float:
    """The same from the simulator: one request at a time, visible at admission.

    Each prompt is cut to its full blocks and one token, which is computed in any case; one KV block of 512
    tokens beside the cache holds it.
    """
    size = load.hash_block_tokens
    blocks = load.chain_blocks.astype(np.int32)
    ones = np.ones(load.requests, np.int32)
    cut = replace(load, input_tokens=blocks * size + 1, output_tokens=ones, max_output_tokens=ones)
    room = load.block_count if tokens is None else tokens // size
    engine = EngineConfig(
        kv_pool_tokens=(room + 1) * size,
        block_tokens=size,
        max_num_seqs=1,
        max_num_batched_tokens=2**30,
        visible="admission",
    )
    config = FleetConfig(1, engine, RouterConfig("round_robin"), drain_limit_s=1e12)
    hits = simulate(config, _SERVICE, cut).hit_tokens
    return float(hits.sum() / load.input_tokens.sum(dtype=np.int64))


def unlimited_hit_rate(path: Path) -> float:
    """Hit tokens over prompt tokens when every block of a Mooncake trace is kept, part-filled ones too."""
    known, hits, tokens = set[int](), 0, 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        matched = next(
            (at for at, block in enumerate(row["hash_ids"]) if block not in known), len(row["hash_ids"])
        )
        hits += min(matched * MOONCAKE_BLOCK_TOKENS, row["input_length"])
        tokens += row["input_length"]
        known.update(row["hash_ids"])
    return hits / tokens
