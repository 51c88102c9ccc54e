"""Routing policies: which replica gets a request, from what the router knows."""

from __future__ import annotations

from typing import Any

from pipeline.fleet.compiled import cold, compiled
from pipeline.fleet.state import (
    BOUNDED_HASH,
    CACHE_AWARE,
    CONSISTENT_HASH,
    HIERARCHICAL,
    KV_ROUTER,
    KV_USAGE,
    LEAST_OUTSTANDING,
    NONE,
    POWER_OF_TWO,
    PREFIX_AWARE,
    PREFIX_ONLY,
    RANDOM,
    ROUND_ROBIN,
    STICKY,
)


@compiled
def least(seen: Any, members: Any, size: int) -> int:
    """The member with the fewest requests in the router's view; the first of equals."""
    best = members[0]
    for at in range(1, size):
        one = members[at]
        if seen[one] < seen[best]:
            best = one
    return int(best)


@compiled
def two_choices(seen: Any, members: Any, size: int, dice: int) -> int:
    """Of two members drawn at random the one with fewer requests; the first drawn of equals."""
    first = dice % size
    if size == 1:
        return int(members[0])
    second = (dice // size) % (size - 1)
    if second >= first:
        second += 1
    one, other = members[first], members[second]
    return int(other if seen[other] < seen[one] else one)


@compiled
def in_turn(counter: Any, members: Any, size: int, region: int) -> int:
    """Round robin over the members."""
    at = counter[region] % size
    counter[region] += 1
    return int(members[at])


@compiled
def around_ring(router: Any, rules: Any, point: int) -> int:
    """The first living replica on the hash ring from a point on that is not full."""
    alive, total = 0, 0
    for replica in range(rules.replicas):
        alive += router.alive[replica]
        total += router.seen_load[replica]
    most = -(-rules.factor * (total + 1) // alive)
    at = point
    for _ in range(router.points.size):
        replica = router.points[at]
        if router.alive[replica] and router.seen_load[replica] + 1 <= most:
            return int(replica)
        at = at + 1 if at + 1 < router.points.size else 0
    return int(router.points[point])


@compiled
def first_on_ring(router: Any, point: int) -> int:
    """The replica of a point of the hash ring, or the next one that lives."""
    at = point
    while not router.alive[router.points[at]]:
        at = at + 1 if at + 1 < router.points.size else 0
    return int(router.points[at])


@compiled
def stay(router: Any, load: Any, request: int, members: Any, size: int) -> int:
    """The home of the request's session; a new or lost one goes to the least loaded."""
    session = load.session[request]
    if session == NONE:
        return least(router.seen_load, members, size)
    home = router.home[session]
    if home == NONE or not router.alive[home]:
        home = least(router.seen_load, members, size)
        router.home[session] = home
    return int(home)


@compiled
def match(router: Any, rules: Any, load: Any, request: int) -> None:
    """Hash blocks of the prompt's start that each replica holds, into `overlap`."""
    router.overlap[:] = 0
    most = min(int(load.chain_blocks[request]), load.tokens_in[request] // rules.hash_block)
    start = load.chain_at[request]
    for word in range(router.seen.shape[1]):
        still = router.seen[load.chain[start], word] if most > 0 else 0
        depth = 0
        while still != 0:
            depth += 1
            after = still & router.seen[load.chain[start + depth], word] if depth < most else 0
            mark(router, word, still & ~after, depth)
            still = after


@compiled
def mark(router: Any, word: int, bits: int, depth: int) -> None:
    """Replicas of these bits match to this depth and no further."""
    at = word << 6
    while bits != 0:
        if bits & 1:
            router.overlap[at] = depth
        bits = (bits >> 1) & 0x7FFFFFFFFFFFFFFF
        at += 1


@compiled
def by_prefix(router: Any, rules: Any, members: Any, size: int) -> int:
    """Most matched tokens less a price for every request outstanding; then fewer requests."""
    best, most = members[0], 0.0
    for at in range(size):
        one = members[at]
        worth = router.overlap[one] * rules.hash_block - rules.weight * router.seen_load[one]
        if at == 0 or worth > most or (worth == most and router.seen_load[one] < router.seen_load[best]):
            best, most = one, worth
    return int(best)


@compiled
def by_prefix_alone(router: Any, members: Any, size: int) -> int:
    """The longest match, whatever the load; the first of equals."""
    best = members[0]
    for at in range(1, size):
        one = members[at]
        if router.overlap[one] > router.overlap[best]:
            best = one
    return int(best)


@compiled
def by_tree(router: Any, rules: Any, load: Any, request: int, members: Any, size: int) -> int:
    """vllm-router's cache_aware: least load when uneven, a good match else, the smallest tree else."""
    low, high = router.seen_load[members[0]], router.seen_load[members[0]]
    best, small = members[0], members[0]
    for at in range(1, size):
        one = members[at]
        low, high = min(low, router.seen_load[one]), max(high, router.seen_load[one])
        best = one if router.overlap[one] > router.overlap[best] else best
        small = one if router.routed[one] < router.routed[small] else small
    if high - low > rules.abs_threshold and high > rules.rel_threshold * low:
        return least(router.seen_load, members, size)
    if router.overlap[best] * rules.hash_block > rules.threshold * load.tokens_in[request]:
        return int(best)
    return int(small)


@compiled
def by_cost(router: Any, rules: Any, load: Any, request: int, members: Any, size: int) -> int:
    """Dynamo's cost: blocks left to prefill, there and for this prompt, and blocks in use; the least."""
    best, least_cost = members[0], 0.0
    prompt = load.tokens_in[request]
    for at in range(size):
        one = members[at]
        fresh = prompt - rules.credit * router.overlap[one] * rules.hash_block
        cost = (router.pending[one] + fresh) / rules.block + router.used[one]
        if at == 0 or cost < least_cost:
            best, least_cost = one, cost
    return int(best)


@compiled
def by_usage(used: Any, members: Any, size: int) -> int:
    """The member with the fewest KV blocks in use; the first of equals."""
    best = members[0]
    for at in range(1, size):
        one = members[at]
        if used[one] < used[best]:
            best = one
    return int(best)


@compiled
def region_for(router: Any, rules: Any, own: int) -> int:
    """The own region while its mean load allows, then the nearest that has room, else the own again."""
    regions = router.size.size - 1
    for at in range(regions):
        region = router.nearest[own, at]
        if router.size[region] == 0:
            continue
        total = 0
        for place in range(router.size[region]):
            total += router.seen_load[router.members[region, place]]
        if total <= rules.spill * router.size[region]:
            return int(region)
    return int(own) if router.size[own] > 0 else regions


@compiled
def choose(router: Any, rules: Any, load: Any, request: int) -> int:
    """The replica for a request, -1 where none lives. The last region holds all replicas."""
    everywhere = router.size.size - 1
    if router.size[everywhere] == 0:
        return NONE
    if rules.policy == HIERARCHICAL:
        region = region_for(router, rules, load.region[request])
        return inside(router, rules, load, request, (rules.inner, region))
    return inside(router, rules, load, request, (rules.policy, everywhere))


@compiled
def inside(router: Any, rules: Any, load: Any, request: int, where: tuple[int, int]) -> int:
    """A replica of a region by a policy."""
    policy, region = where
    members, size = router.members[region], router.size[region]
    if policy == ROUND_ROBIN:
        return in_turn(router.counter, members, size, region)
    if policy == RANDOM:
        return int(members[load.dice[request] % size])
    if policy == POWER_OF_TWO:
        return two_choices(router.seen_load, members, size, load.dice[request])
    if policy == LEAST_OUTSTANDING:
        return least(router.seen_load, members, size)
    if policy == KV_USAGE:
        return by_usage(router.used, members, size)
    return keyed(router, rules, load, request, where)


@cold
def keyed(router: Any, rules: Any, load: Any, request: int, where: tuple[int, int]) -> int:
    """Policies that look at what the request is: its key, its session, its prefix."""
    policy, region = where
    members, size = router.members[region], router.size[region]
    if policy == CONSISTENT_HASH:
        return first_on_ring(router, load.point[request])
    if policy == BOUNDED_HASH:
        return around_ring(router, rules, load.point[request])
    if policy == STICKY:
        return stay(router, load, request, members, size)
    return matched(router, rules, load, request, where)


@compiled
def matched(router: Any, rules: Any, load: Any, request: int, where: tuple[int, int]) -> int:
    """Policies that look at what is cached where."""
    policy, region = where
    members, size = router.members[region], router.size[region]
    match(router, rules, load, request)
    if policy == PREFIX_AWARE:
        return by_prefix(router, rules, members, size)
    if policy == PREFIX_ONLY:
        return by_prefix_alone(router, members, size)
    if policy == CACHE_AWARE:
        return by_tree(router, rules, load, request, members, size)
    if policy == KV_ROUTER:
        return by_cost(router, rules, load, request, members, size)
    return least(router.seen_load, members, size)
