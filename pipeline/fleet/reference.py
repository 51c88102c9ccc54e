"""The simulator once more, in plain Python: lists, dictionaries, a heap. Slow, and made to be read.

It says what the compiled core must do, and tests hold the core to it request by request. An event is an
arrival, the end of a step or a failure; at one time failures come first, then ends of steps, then arrivals.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.fleet.config import EngineConfig, FleetConfig
from pipeline.fleet.reference_router import Router
from pipeline.fleet.steps import StepTable
from pipeline.fleet.workload import Workload

FINISHED, REJECTED, DROPPED, UNFINISHED = range(4)
_FAILURE, _RECOVERY, _END, _ARRIVAL = range(4)


@dataclass
class Running:
    """A request that was admitted: its KV is entries of the cache that it shares, and private blocks."""

    request: int
    prompt: int
    made: int
    done: int
    private: int
    held: list[int]
    own: int
    chunk: int = 0
    decoding: bool = False
    context: int = 0


class Cache:
    """Hash blocks of a replica: users of each, those without users by age, and the off-load tier by age."""

    def __init__(self, tier_room: int) -> None:
        self.users: dict[int, int] = {}
        self.idle: OrderedDict[int, None] = OrderedDict()
        self.tier: OrderedDict[int, None] = OrderedDict()
        self.tier_room = tier_room

    def hold(self, block: int) -> None:
        """One more user."""
        self.idle.pop(block, None)
        self.users[block] += 1

    def let_go(self, block: int) -> None:
        """One user less; without any it may be evicted, after all that were idle before."""
        self.users[block] -= 1
        if self.users[block] == 0:
            self.idle[block] = None

    def evict(self) -> None:
        """Drop the block that has been idle longest; the tier keeps it."""
        block, _ = self.idle.popitem(last=False)
        del self.users[block]
        if self.tier_room:
            self.tier.pop(block, None)
            if len(self.tier) == self.tier_room:
                self.tier.popitem(last=False)
            self.tier[block] = None


class Replica:
    """One engine."""

    def __init__(self, engine: EngineConfig, table: StepTable, load: Workload, record: Record) -> None:
        self.engine, self.table, self.load, self.record = engine, table, load, record
        self.pool = self.free = engine.kv_pool_tokens // engine.block_tokens
        self.units = load.hash_block_tokens // engine.block_tokens
        self.caching = engine.prefix_caching and engine.admission != "static"
        self.cache = Cache(engine.offload_tokens // load.hash_block_tokens)
        self.waiting: deque[int] = deque()
        self.running: list[Running] = []
        self.made: dict[int, int] = {}
        self.ends: float | None = None
        self.busy_s, self.peak, self.steps, self.outside, self.used = 0.0, 0, 0, 0, 0
        longest = engine.max_model_len_tokens or int((load.input_tokens + load.max_output_tokens).max())
        self.reserved = self.blocks(longest)
        self.seats = engine.max_num_seqs
        if engine.admission == "static":
            self.seats = max(1, min(self.seats, self.pool // self.reserved))

    def blocks(self, tokens: int) -> int:
        """KV blocks of so many tokens."""
        return math.ceil(tokens / self.engine.block_tokens)

    def in_use(self) -> int:
        """KV blocks that running requests hold."""
        return self.pool - self.free - len(self.cache.idle) * self.units

    def begin(self, now: float) -> None:
        """Begin the next step, if there is anything to do."""
        preempted = self.grow()
        decodes = [one for one in self.running if one.decoding]
        ms = self.prefill(self.engine.max_num_batched_tokens - len(decodes), preempted)
        self.used = self.in_use()
        if not self.running:
            self.ends = None
            return
        self.steps += 1
        self.peak = max(self.peak, self.used)
        ms += self.decode_ms(decodes) if decodes else self.table.prefill_base_ms
        self.busy_s += ms / 1000
        self.ends = now + ms / 1000

    def decode_ms(self, decodes: list[Running]) -> float:
        """Bilinear in batch and mean context."""
        context = sum(one.context for one in decodes) / len(decodes)
        contexts, batches, ms = self.table.contexts, self.table.batches, self.table.decode_ms
        if len(contexts) > 1 and context > contexts[-1]:
            self.outside += 1
        at, way = _place(contexts, context)
        low, part = _place(batches, min(len(decodes), batches[-1]))
        below, above = (
            ms[row][at] + way * (ms[row][min(at + 1, len(contexts) - 1)] - ms[row][at])
            for row in (low, min(low + 1, len(batches) - 1))
        )
        return float(below + part * (above - below))

    def grow(self) -> bool:
        """Take a block for each decoding request that needs one, by preemption where they run out."""
        if self.engine.admission not in ("recompute", "max_utilization"):
            return False
        preempted = False
        while True:
            needy = [one for one in self.running if one.decoding and self.needs_block(one)]
            if len(needy) <= self.free + len(self.cache.idle) * self.units:
                break
            self.preempt()
            preempted = True
        self.make_room(len(needy))
        for one in needy:
            one.private += 1
        self.free -= len(needy)
        return preempted

    def needs_block(self, one: Running) -> bool:
        """Whether the token of the next step finds no room in the blocks the request holds."""
        return self.blocks(one.context + 1) > one.private + len(one.held) * self.units

    def preempt(self) -> None:
        """The request admitted last gives up its blocks and goes before all that wait."""
        one = self.running.pop()
        self.made[one.request] = one.made
        self.release(one)
        self.waiting.appendleft(one.request)
        self.record.preemptions[one.request] += 1

    def release(self, one: Running) -> None:
        """Cached blocks become idle, the end of the chain first; the others are free."""
        for block in reversed(one.held):
            self.cache.let_go(block)
        self.free += one.private

    def make_room(self, blocks: int) -> None:
        """Evict until so many blocks are free."""
        while self.free < blocks:
            self.cache.evict()
            self.free += self.units

    def prefill(self, budget: int, closed: bool) -> float:
        """Share a step's tokens among prompts, in order of admission; the time it adds, ms."""
        ms = 0.0
        for one in self.running:
            if not one.decoding:
                one.chunk = max(0, min(one.prompt - one.done, budget))
                budget -= one.chunk
                ms += self.chunk_ms(one)
        while budget > 0 and not closed and self.waiting and len(self.running) < self.seats:
            load_s = self.admit()
            if load_s is None:
                break
            one = self.running[-1]
            one.chunk = min(one.prompt - one.done, budget)
            budget -= one.chunk
            ms += load_s * 1000 + self.chunk_ms(one)
        return ms

    def chunk_ms(self, one: Running) -> float:
        """Time of a chunk, ms."""
        middle = one.done + one.chunk / 2
        table = self.table
        return one.chunk * (table.prefill_ms_per_token + table.prefill_ms_per_token_kctx * middle / 1000)

    def chain(self, request: int) -> list[int]:
        """Ids of the request's hash blocks."""
        start = int(self.load.chain_start[request])
        return [int(one) for one in self.load.chain_ids[start : start + int(self.load.chain_blocks[request])]]

    def admit(self) -> float | None:
        """Admit the head of the queue; seconds of loading from the tier, or None where it does not fit."""
        request = self.waiting[0]
        prompt = int(self.load.input_tokens[request]) + self.made.get(request, 0)
        chain = self.chain(request)[: (prompt - 1) // self.load.hash_block_tokens] if self.caching else []
        matched = _leading(chain, self.cache.users)
        need = self.demand(request, prompt) - matched * self.units
        idle = sum(block in self.cache.idle for block in chain[:matched])
        if self.free + (len(self.cache.idle) - idle) * self.units < need:
            return None
        for block in chain[:matched]:
            self.cache.hold(block)
        self.make_room(need)
        self.free -= need
        self.waiting.popleft()
        loaded = _leading(chain[matched:], self.cache.tier)
        for block in chain[matched : matched + loaded]:
            self.cache.tier.move_to_end(block)
        self.seat(request, prompt, (chain[:matched], loaded, need))
        tokens = loaded * self.load.hash_block_tokens
        return tokens * (self.engine.kv_bytes_per_token / (self.engine.offload_gb_s * 1e9))

    def seat(self, request: int, prompt: int, found: tuple[list[int], int, int]) -> None:
        """Make the head of the queue a running request."""
        held, loaded, private = found
        size = self.load.hash_block_tokens
        if self.record.hit_tokens[request] < 0:
            self.record.hit_tokens[request] = len(held) * size
            self.record.offload_hit_tokens[request] = loaded * size
        made = self.made.get(request, 0)
        one = Running(request, prompt, made, (len(held) + loaded) * size, private, held, len(held))
        self.running.append(one)
        if self.engine.visible == "admission":
            self.show(one, prompt)

    def demand(self, request: int, prompt: int) -> int:
        """KV blocks a request gets when it is admitted, those that it shares included."""
        if self.engine.admission == "static":
            return self.reserved
        if self.engine.admission == "no_evict":
            return self.blocks(int(self.load.input_tokens[request] + self.load.max_output_tokens[request]))
        return self.blocks(prompt)

    def show(self, one: Running, tokens: int) -> None:
        """Full hash blocks of the first `tokens` tokens can be hit from now on, where nobody was first."""
        if not self.caching:
            return
        upto = self.chain(one.request)[: tokens // self.load.hash_block_tokens]
        for block in upto[one.own :]:
            if block not in self.cache.users:
                self.cache.users[block] = 1
                one.held.append(block)
                one.private -= self.units
        one.own = max(one.own, len(upto))

    def end(self, now: float) -> list[int]:
        """Apply the step that ends; the requests that ended with it."""
        for one in self.running:
            if one.decoding:
                one.made += 1
                one.context += 1
            else:
                self.advance(one, now)
        ended = [one for one in self.running if one.made >= self.load.output_tokens[one.request]]
        for one in ended:
            if self.engine.cache_outputs:
                self.show(
                    one, int(self.load.input_tokens[one.request] + self.load.output_tokens[one.request]) - 1
                )
            self.release(one)
            self.running.remove(one)
            self.record.ended_s[one.request] = now
            self.record.status[one.request] = FINISHED
        return [one.request for one in ended]

    def advance(self, one: Running, now: float) -> None:
        """Add a chunk; with the last one the first token is there."""
        one.done += one.chunk
        one.chunk = 0
        if one.done < one.prompt:
            return
        if math.isnan(self.record.first_s[one.request]):
            self.record.first_s[one.request] = now
        self.show(one, one.prompt)
        one.made += 1
        one.decoding, one.context = True, one.prompt

    def fail(self) -> list[int]:
        """Lose everything; the requests that were here, running ones first."""
        lost = [one.request for one in self.running] + list(self.waiting)
        self.cache = Cache(self.cache.tier_room)
        self.free, self.ends, self.used = self.pool, None, 0
        self.running, self.made = [], {}
        self.waiting.clear()
        return lost


@dataclass
class Record:
    """What is recorded of each request; times in s, NaN where it did not happen."""

    requests: int
    status: Any = field(init=False)
    arrival_s: Any = field(init=False)
    first_s: Any = field(init=False)
    ended_s: Any = field(init=False)
    hit_tokens: Any = field(init=False)
    offload_hit_tokens: Any = field(init=False)
    preemptions: Any = field(init=False)
    replica: Any = field(init=False)

    def __post_init__(self) -> None:
        number = self.requests
        self.status = np.full(number, UNFINISHED)
        self.arrival_s, self.first_s, self.ended_s = (np.full(number, np.nan) for _ in range(3))
        self.hit_tokens, self.replica = np.full(number, -1), np.full(number, -1)
        self.offload_hit_tokens, self.preemptions = np.zeros(number, int), np.zeros(number, int)


class Fleet:
    """All replicas, the router and the clock."""

    def __init__(self, config: FleetConfig, table: StepTable, load: Workload) -> None:
        self.config, self.load = config, load
        self.record = Record(load.requests)
        self.replicas = [Replica(config.engine, table, load, self.record) for _ in range(config.replicas)]
        self.router = Router(config, load, self.replicas)
        self.follower = {int(load.after[one]): one for one in range(load.requests) if load.after[one] >= 0}
        self.events: list[tuple[float, int, int]] = [
            (float(load.arrival_s[one]), _ARRIVAL, one)
            for one in range(load.requests)
            if not np.isnan(load.arrival_s[one])
        ]
        for change in config.failures:
            self.events += [
                (change.at_s, _FAILURE, change.replica),
                (change.until_s, _RECOVERY, change.replica),
            ]
        heapq.heapify(self.events)

    def run(self, stop_s: float) -> Record:
        """Simulate until nothing is left or the time is up."""
        while self.events and self.events[0][0] <= stop_s:
            now, kind, which = heapq.heappop(self.events)
            self.router.look(now)
            if kind == _ARRIVAL:
                self.record.arrival_s[which] = now
                self.send(which, now)
            elif kind == _END:
                if self.replicas[which].ends == now:
                    self.end(which, now)
            else:
                self.change(kind, which, now)
        return self.record

    def change(self, kind: int, which: int, now: float) -> None:
        """A replica dies or comes back."""
        self.router.alive[which] = kind == _RECOVERY
        if kind == _RECOVERY:
            return
        for request in self.replicas[which].fail():
            self.router.ended(request, which)
            self.record.first_s[request] = math.nan
            self.send(request, now)

    def send(self, request: int, now: float) -> None:
        """Route a request, or reject it with all that would have followed it."""
        chosen = self.router.choose(request)
        most = self.config.engine.max_queued
        if chosen is None or (most is not None and len(self.replicas[chosen].waiting) >= most):
            self.record.status[request] = REJECTED
            after = self.follower.get(request)
            while after is not None:
                self.record.status[after] = DROPPED
                after = self.follower.get(after)
            return
        self.record.replica[request] = chosen
        self.router.sent(request, chosen)
        self.replicas[chosen].waiting.append(request)
        if self.replicas[chosen].ends is None:
            self.begin(chosen, now)

    def begin(self, which: int, now: float) -> None:
        """Begin a step and note its end."""
        self.replicas[which].begin(now)
        ends = self.replicas[which].ends
        if ends is not None:
            heapq.heappush(self.events, (ends, _END, which))

    def end(self, which: int, now: float) -> None:
        """A step ends: followers are set off, the next step begins."""
        for request in self.replicas[which].end(now):
            self.router.ended(request, which)
            after = self.follower.get(request)
            if after is not None:
                heapq.heappush(self.events, (now + float(self.load.think_s[after]), _ARRIVAL, after))
        self.begin(which, now)


def simulate_plainly(
    config: FleetConfig, table: StepTable, workload: Workload, stop_s: float = math.inf
) -> Fleet:
    """Simulate; the network between regions is not added to the recorded times.

    Args:
        config: the fleet.
        table: step times.
        workload: requests; a few thousand at most.
        stop_s: time after which nothing happens.

    Returns:
        The fleet at the end: `record` of the requests, `replicas` with their counts.
    """
    fleet = Fleet(config, table, workload)
    fleet.run(stop_s)
    return fleet


def _place(axis: Any, value: float) -> tuple[int, float]:
    """The point below a value, and how far the value lies on the way to the next point."""
    if len(axis) == 1 or value <= axis[0]:
        return 0, 0.0
    at = 0
    while at < len(axis) - 2 and axis[at + 1] < value:
        at += 1
    return at, (value - axis[at]) / (axis[at + 1] - axis[at])


def _leading(chain: list[int], known: Any) -> int:
    """How many blocks at the start are known."""
    return next((at for at, block in enumerate(chain) if block not in known), len(chain))
