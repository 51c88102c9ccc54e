"""The event loop: arrivals, ends of steps, failures, in the order of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.fleet.caches import forget
from pipeline.fleet.compiled import cold, compiled, entry
from pipeline.fleet.engine import (
    advance_prefill,
    begin_step,
    catch_up,
    cut_short,
    ended_slots,
    finish,
    held_blocks,
    queue_last,
    release,
    span,
    stop_decoding,
    take_first,
)
from pipeline.fleet.policies import choose
from pipeline.fleet.state import (
    BEGAN,
    CONTEXT,
    DECODING,
    FIRST,
    FREE,
    IDLE,
    NONE,
    PLANNED,
    PREFILLING,
    REQUEST,
    RUNNING,
    STEP,
    WAITING,
)


@compiled
def set_end(tree: Any, replica: int, when: float) -> None:
    """Enter the end of a replica's step into the tree of earliest ends."""
    at = tree.size // 2 + replica
    tree[at] = when
    at >>= 1
    while at >= 1:
        least = min(tree[2 * at], tree[2 * at + 1])
        if tree[at] == least:
            break
        tree[at] = least
        at >>= 1


@compiled
def next_end(tree: Any) -> int:
    """The replica whose step ends first, the lowest of equals."""
    at = 1
    while at < tree.size // 2:
        at = 2 * at if tree[2 * at] == tree[at] else 2 * at + 1
    return int(at - tree.size // 2)


@compiled
def push(times: Any, of: Any, count: int, when: float, request: int) -> None:
    """Add an arrival to come to the heap, which holds `count` of them."""
    at = count
    while at > 0:
        up = (at - 1) >> 1
        if times[up] < when or (times[up] == when and of[up] < request):
            break
        times[at], of[at] = times[up], of[up]
        at = up
    times[at], of[at] = when, request


@compiled
def pop(times: Any, of: Any, count: int) -> int:
    """Remove the earliest arrival of the heap."""
    first, when, request = of[0], times[count - 1], of[count - 1]
    last, at = count - 1, 0
    while 2 * at + 1 < last:
        low = 2 * at + 1
        if low + 1 < last and (
            times[low + 1] < times[low] or (times[low + 1] == times[low] and of[low + 1] < of[low])
        ):
            low += 1
        if when < times[low] or (when == times[low] and request < of[low]):
            break
        times[at], of[at] = times[low], of[low]
        at = low
    times[at], of[at] = when, request
    return int(first)


@cold
def refresh(fleet: Any, router: Any, rules: Any, now: float) -> None:
    """Bring the router's view up to date."""
    router.refreshed[0] = (np.floor(now / rules.delay_s) + 1) * rules.delay_s
    for replica in range(rules.replicas):
        router.seen_load[replica] = router.load[replica]
        router.used[replica] = in_use(fleet, rules, replica)


@compiled
def in_use(fleet: Any, rules: Any, replica: int) -> int:
    """KV blocks that running requests of a replica hold."""
    row = fleet.replica[replica]
    return int(rules.pool - row[FREE] - row[IDLE] * rules.units)


@compiled
def refresh_due(fleet: Any, router: Any, rules: Any, now: float) -> None:
    """Bring the router's view up to date where its delay has passed; without a delay views are the truth."""
    if rules.delay_s > 0 and now >= router.refreshed[0]:
        refresh(fleet, router, rules, now)


@compiled
def count(router: Any, rules: Any, replica: int, change: int) -> None:
    """The router sends a request or learns of its end."""
    router.load[replica] += change
    if rules.delay_s <= 0 or (change > 0 and rules.counts_own):
        router.seen_load[replica] += change


@compiled
def start(
    steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float]
) -> None:
    """Begin a replica's next step, or leave it idle."""
    replica, now = at
    busy = begin_step(steps, fleet, router, rules, load, out, replica)
    if rules.delay_s <= 0:
        router.used[replica] = in_use(fleet, rules, replica)
    if not busy:
        set_end(fleet.tree, replica, np.inf)
        return
    pace = fleet.pace[replica]
    pace[0] = now
    seconds = span(pace, fleet.replica[replica, PLANNED])
    fleet.busy[replica] += seconds
    set_end(fleet.tree, replica, now + seconds)


@cold
def drop_followers(load: Any, out: Any, request: int) -> None:
    """Requests that would have followed a rejected one never come."""
    after = load.follower[request]
    while after != NONE:
        out.status[after] = 2
        after = load.follower[after]


@compiled
def send(fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float]) -> int:
    """Route a request and queue it; the replica if it now has to begin a step, else -1."""
    request, now = at
    replica = choose(router, rules, load, request)
    full = replica != NONE and 0 <= rules.queue_most <= fleet.replica[replica, WAITING]
    if replica == NONE or full:
        out.status[request] = 1
        out.ended[request] = now
        drop_followers(load, out, request)
        return NONE
    out.replica[request] = replica
    count(router, rules, replica, 1)
    router.pending[replica] += load.tokens_in[request]
    router.routed[replica] += load.chain_blocks[request] - router.overlap[replica] * rules.indexed
    queue_last(fleet.replica[replica], fleet.waiting, request)
    if fleet.tree[fleet.tree.size // 2 + replica] == np.inf:
        return int(replica)
    row = fleet.replica[replica]
    if row[PLANNED] > 1 and row[WAITING] == 1 and row[RUNNING] < rules.seats:
        set_end(fleet.tree, replica, cut_short(fleet, replica, now))
    return NONE


@compiled
def end_step(fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float, int]) -> int:
    """Apply the step that ends now; gives the size of the heap of arrivals."""
    replica, now, waiting = at
    row = fleet.replica[replica]
    catch_up(fleet, router, rules, replica)
    ended = ended_slots(fleet, replica)
    row[CONTEXT] += row[DECODING]
    row[STEP] += 1
    single = 0
    if row[PREFILLING] > 0:
        single = advance_prefill(fleet, router, rules, load, out, (replica, now))
    for place in range(ended + single):
        one = fleet.scratch[place] if place < ended else fleet.scratch[rules.seats + place - ended]
        request = finish(fleet, router, rules, load, out, (replica, int(one), now))
        count(router, rules, replica, -1)
        after = load.follower[request]
        if after != NONE:
            push(fleet.future, fleet.future_of, waiting, now + load.think[after], after)
            waiting += 1
    return waiting


@compiled
def join(router: Any, region: int, replica: int) -> None:
    """Add a replica to the living members of a region."""
    router.members[region, router.size[region]] = replica
    router.size[region] += 1


@cold
def set_alive(router: Any, rules: Any, replica: int, alive: int) -> None:
    """A replica goes or comes back: the lists of living members are made anew."""
    router.alive[replica] = alive
    everywhere = router.size.size - 1
    router.size[:] = 0
    for one in range(rules.replicas):
        if router.alive[one]:
            join(router, int(router.home_region[one]), one)
            join(router, everywhere, one)


@cold
def fail(steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float]) -> None:
    """A replica dies: its requests are routed again and start anew."""
    replica, now = at
    row, slot = fleet.replica[replica], fleet.slot[replica]
    lost = fleet.lost
    if row[RUNNING] > 0:
        cut_short(fleet, replica, now)
        catch_up(fleet, router, rules, replica)
    number = 0
    while row[FIRST] != NONE:
        one = row[FIRST]
        lost[number] = slot[one, REQUEST]
        held = held_blocks(row, slot, rules.block, one)
        if slot[one, BEGAN] != NONE:
            stop_decoding(fleet, replica, one)
        else:
            row[PREFILLING] -= 1
        release(fleet, rules, replica, one, held)
        number += 1
    while row[WAITING] > 0:
        lost[number] = take_first(row, fleet.waiting)
        number += 1
    forget(fleet, router, rules, replica)
    # A request that grew in the step that broke off holds a block more than its context tells.
    row[FREE] = rules.pool
    router.used[replica] = 0
    set_end(fleet.tree, replica, np.inf)
    set_alive(router, rules, replica, 0)
    router.pending[replica] = 0
    for place in range(number):
        fleet.made[lost[place]] = 0
        out.first[lost[place]] = np.nan
        count(router, rules, replica, -1)
        one = send(fleet, router, rules, load, out, (int(lost[place]), now))
        if one != NONE:
            start(steps, fleet, router, rules, load, out, (one, now))


@compiled
def note_backlog(router: Any, out: Any, arrived: int, total: int) -> None:
    """Requests in the system when a half and when all have come: a queue that grows shows there."""
    if arrived in (total // 2, total):
        out.backlog[1 if arrived == total else 0] = router.load.sum()


@compiled
def fresh_from(load: Any, fresh: int) -> int:
    """The first request from there on that waits for no other."""
    while fresh < load.arrival.size and np.isnan(load.arrival[fresh]):
        fresh += 1
    return fresh


@compiled
def arrive(fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float]) -> int:
    """A request comes; the replica that has to begin a step for it, else -1."""
    request, now = at
    out.arrived[request] = now
    out.events[1] += 1
    began = send(fleet, router, rules, load, out, at)
    note_backlog(router, out, out.events[1], load.arrival.size)
    return began


@cold
def change(steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: Any) -> None:
    """A replica fails or comes back; `at` is a row of breaks."""
    if at[2] == 0:
        fail(steps, fleet, router, rules, load, out, (int(at[1]), at[0]))
    else:
        set_alive(router, rules, int(at[1]), 1)


@cold
def stop(fleet: Any, rules: Any, now: float) -> None:
    """What is planned beyond the end does not count."""
    for replica in range(rules.replicas):
        if fleet.replica[replica, RUNNING] > 0:
            cut_short(fleet, replica, now)


@entry
def run(steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, breaks: Any) -> float:
    """Simulate until nothing is left to do or the time is up; gives the time of the last event, s.

    The arrays are those of `state`; breaks is float64[changes, 3], by time: time, replica, 0 for a failure
    and 1 for a recovery.
    """
    fresh, future, broken, now = fresh_from(load, 0), 0, 0, 0.0
    while True:
        soon = fleet.future[0] if future > 0 else np.inf
        next_fresh = load.arrival[fresh] if fresh < load.arrival.size else np.inf
        breaking = breaks[broken, 0] if broken < breaks.shape[0] else np.inf
        first = min(soon, next_fresh, fleet.tree[1])
        if first == np.inf or min(first, breaking) > rules.stop_s:
            stop(fleet, rules, now)
            return now
        out.events[0] += 1
        now = min(first, breaking)
        refresh_due(fleet, router, rules, now)
        if breaking <= first:
            change(steps, fleet, router, rules, load, out, breaks[broken])
            broken += 1
            continue
        if fleet.tree[1] == first:
            begins = next_end(fleet.tree)
            future = end_step(fleet, router, rules, load, out, (begins, now, future))
        elif soon < next_fresh or (soon == next_fresh and fleet.future_of[0] < fresh):
            begins = arrive(
                fleet, router, rules, load, out, (pop(fleet.future, fleet.future_of, future), now)
            )
            future -= 1
        else:
            begins = arrive(fleet, router, rules, load, out, (fresh, now))
            fresh = fresh_from(load, fresh + 1)
        if begins != NONE:
            start(steps, fleet, router, rules, load, out, (begins, now))
