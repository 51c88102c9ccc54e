"""The router of the plain reference: one function for each policy."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pipeline.fleet.config import FleetConfig
from pipeline.fleet.workload import Workload

if TYPE_CHECKING:
    from pipeline.fleet.reference import Replica

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mixed(value: int) -> int:
    """SplitMix64 (Steele, Lea, Flood 2014): spreads whole numbers over 64 bits."""
    z = (value * _GOLDEN + _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Router:
    """Chooses replicas from what it saw last."""

    def __init__(self, config: FleetConfig, load: Workload, replicas: list[Replica]) -> None:
        self.config, self.rules, self.work, self.replicas = config, config.router, load, replicas
        number = config.replicas
        self.delay_s = config.router.view_delay_ms / 1000
        self.next_look = 0.0
        self.load, self.view, self.used = [0] * number, [0] * number, [0] * number
        self.tree = [0] * number
        self.alive = [True] * number
        self.dice = np.random.default_rng(config.seed).integers(0, 1 << 62, load.requests, dtype=np.int64)
        self.turn: dict[int, int] = {}
        self.homes: dict[int, int] = {}
        self.ring = self._ring() if "hash" in config.router.policy else []
        sites = config.regions.replicas if config.regions else (number,)
        self.region = [site for site, count in enumerate(sites) for _ in range(count)]
        self.policies: dict[str, Callable[[int, list[int], int], int]] = {
            "round_robin": self.in_turn,
            "random": lambda request, among, _: among[int(self.dice[request]) % len(among)],
            "power_of_two": self.two_choices,
            "least_outstanding": lambda _, among, __: self.least(among),
            "consistent_hash": lambda request, _, __: self.on_ring(request, math.inf),
            "bounded_hash": self.bounded,
            "sticky_least_loaded": self.sticky,
            "cache_aware": self.cache_aware,
            "kv_router": self.cheapest,
            "prefix_aware": self.prefix_aware,
            "prefix_only": lambda request, among, _: max(
                among, key=lambda one: (self.match(request, one), -one)
            ),
            "kv_usage": lambda _, among, __: min(among, key=lambda one: (self.used_of(one), one)),
        }

    def look(self, now: float) -> None:
        """See load and memory as they are, where the time has come."""
        if self.delay_s > 0 and now >= self.next_look:
            self.next_look = (math.floor(now / self.delay_s) + 1) * self.delay_s
            self.view = list(self.load)
            self.used = [replica.used for replica in self.replicas]

    def seen(self, one: int) -> int:
        """Requests at a replica, as the router believes."""
        return self.view[one] if self.delay_s > 0 else self.load[one]

    def used_of(self, one: int) -> int:
        """KV blocks in use at a replica, as the router believes."""
        return self.used[one] if self.delay_s > 0 else self.replicas[one].used

    def sent(self, request: int, chosen: int) -> None:
        """Count a request that goes to a replica."""
        self.tree[chosen] += int(self.work.chain_blocks[request]) - self.match(request, chosen)
        self.load[chosen] += 1
        if self.rules.view_counts_own:
            self.view[chosen] += 1

    def ended(self, _request: int, where: int) -> None:
        """Count a request that has left a replica."""
        self.load[where] -= 1

    def waiting_tokens(self, one: int) -> int:
        """Prompt tokens sent to a replica whose first token is not there."""
        replica = self.replicas[one]
        here = list(replica.waiting) + [each.request for each in replica.running]
        return sum(
            int(self.work.input_tokens[each]) for each in here if math.isnan(replica.record.first_s[each])
        )

    def choose(self, request: int) -> int | None:
        """The replica for a request, None where none lives."""
        everywhere = [one for one, lives in enumerate(self.alive) if lives]
        if not everywhere:
            return None
        if self.rules.policy == "hierarchical":
            among, region = self.near(int(self.work.region[request]), everywhere)
            return self.policies[self.rules.inner](request, among, region)
        return self.policies[self.rules.policy](request, everywhere, -1)

    def near(self, own: int, everywhere: list[int]) -> tuple[list[int], int]:
        """Living replicas of the own region, or of the nearest one with room; all where none has any."""
        assert self.config.regions is not None  # noqa: S101 - checked before the run
        rtt = self.config.regions.rtt_ms[own]
        by_region = {
            site: [one for one in everywhere if self.region[one] == site] for site in range(len(rtt))
        }
        for site in sorted(by_region, key=lambda site: (site != own, rtt[site], site)):
            among = by_region[site]
            if among and sum(map(self.seen, among)) <= self.rules.spill_outstanding * len(among):
                return among, site
        return (by_region[own], own) if by_region[own] else (everywhere, -1)

    def least(self, among: list[int]) -> int:
        """Fewest requests; the first of equals."""
        return min(among, key=lambda one: (self.seen(one), one))

    def in_turn(self, _request: int, among: list[int], region: int) -> int:
        """Round robin."""
        at = self.turn.get(region, 0)
        self.turn[region] = at + 1
        return among[at % len(among)]

    def two_choices(self, request: int, among: list[int], _region: int) -> int:
        """Two different replicas at random, the one with fewer requests."""
        if len(among) == 1:
            return among[0]
        dice = int(self.dice[request])
        first, second = dice % len(among), (dice // len(among)) % (len(among) - 1)
        second += second >= first
        return among[second] if self.seen(among[second]) < self.seen(among[first]) else among[first]

    def _ring(self) -> list[tuple[int, int]]:
        nodes = self.rules.virtual_nodes
        points = range(self.config.replicas * nodes)
        return sorted((mixed(point + (1 << 50)), point // nodes) for point in points)

    def key(self, request: int) -> int:
        """What is hashed: session, group or first prefix block, the request itself where it has none."""
        if self.rules.hash_key == "prefix":
            chained = self.work.chain_blocks[request] > 0
            known = int(self.work.chain_ids[self.work.chain_start[request]]) if chained else -1
        else:
            column = self.work.session if self.rules.hash_key == "session" else self.work.group
            known = int(column[request])
        return known if known >= 0 else request + (1 << 40)

    def on_ring(self, request: int, most: float) -> int:
        """The next living replica on the ring that has less than `most` requests."""
        start = bisect.bisect_left(self.ring, (mixed(self.key(request)), -1))
        for step in range(len(self.ring)):
            one = self.ring[(start + step) % len(self.ring)][1]
            if self.alive[one] and self.seen(one) + 1 <= most:
                return one
        return self.ring[start % len(self.ring)][1]

    def bounded(self, request: int, among: list[int], _region: int) -> int:
        """Consistent hash with a bound on each load."""
        total = sum(self.seen(one) for one in range(len(self.alive)))
        return self.on_ring(request, math.ceil(self.rules.bounded_load_factor * (total + 1) / len(among)))

    def sticky(self, request: int, among: list[int], _region: int) -> int:
        """The session's home, given at first sight to the least loaded."""
        session = int(self.work.session[request])
        if session < 0:
            return self.least(among)
        if session not in self.homes or not self.alive[self.homes[session]]:
            self.homes[session] = self.least(among)
        return self.homes[session]

    def match(self, request: int, one: int) -> int:
        """Hash blocks at the prompt's start that a replica has."""
        replica = self.replicas[one]
        blocks = int(self.work.input_tokens[request]) // self.work.hash_block_tokens
        chain = replica.chain(request)[:blocks]
        return next((at for at, block in enumerate(chain) if block not in replica.cache.users), len(chain))

    def prefix_aware(self, request: int, among: list[int], _region: int) -> int:
        """Matched tokens less a price for each outstanding request."""
        size = self.work.hash_block_tokens
        return max(
            among,
            key=lambda one: (
                self.match(request, one) * size - self.rules.load_weight_tokens * self.seen(one),
                -self.seen(one),
                -one,
            ),
        )

    def cache_aware(self, request: int, among: list[int], _region: int) -> int:
        """As vllm-router: balance where loads are uneven, else the best match, else the smallest tree."""
        loads = [self.seen(one) for one in among]
        uneven = max(loads) - min(loads) > self.rules.balance_abs_threshold
        if uneven and max(loads) > self.rules.balance_rel_threshold * min(loads):
            return self.least(among)
        best = max(among, key=lambda one: (self.match(request, one), -one))
        matched = self.match(request, best) * self.work.hash_block_tokens
        if matched > self.rules.cache_threshold * self.work.input_tokens[request]:
            return best
        return min(among, key=lambda one: (self.tree[one], one))

    def cheapest(self, request: int, among: list[int], _region: int) -> int:
        """As Dynamo: prompt blocks left to compute there, this one's included, and blocks in use."""
        size, block = self.work.hash_block_tokens, self.config.engine.block_tokens
        prompt = int(self.work.input_tokens[request])

        def cost(one: int) -> tuple[float, int]:
            fresh = prompt - self.rules.overlap_credit * self.match(request, one) * size
            return (self.waiting_tokens(one) + fresh) / block + self.used_of(one), one

        return min(among, key=cost)
