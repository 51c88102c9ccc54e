"""One replica: continuous batching with chunked prefill, paged KV, preemption or reservation, prefix cache.

A decode step costs the same for one request and for hundreds: requests that end in a step wait in a ring of
buckets, those that need a block are counted by step, the sum of contexts is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.fleet.caches import append, enter, find, hold_entry, let_go, make_room, unlink
from pipeline.fleet.compiled import cold, compiled
from pipeline.fleet.state import (
    AFTER,
    BASE,
    BEFORE,
    BEGAN,
    BEYOND,
    CHUNK,
    CONTEXT,
    DECODING,
    DONE,
    FINISH,
    FIRST,
    FREE,
    HEAD,
    HELD,
    IDLE,
    LAST,
    MADE,
    MAX_UTILIZATION,
    NEXT,
    NO_EVICT,
    NONE,
    ORDER,
    OUTSIDE,
    OWNED,
    PEAK,
    PHASE,
    PLANNED,
    PREEMPTED,
    PREFILLING,
    PREV,
    RECOMPUTE,
    REQUEST,
    RUNNING,
    SEQ,
    SPARE,
    STATIC,
    STEP,
    STEPS,
    TAIL,
    TARGET,
    TIER_NEWEST,
    TIER_OLDEST,
    USERS,
    WAITING,
)


@compiled
def blocks_of(tokens: int, block: int) -> int:
    """KV blocks that hold so many tokens."""
    return (tokens + block - 1) // block


@compiled
def queue_last(row: Any, waiting: Any, request: int) -> None:
    """Append a request to the waiting queue."""
    waiting[request] = NONE
    if row[TAIL] == NONE:
        row[HEAD] = request
    else:
        waiting[row[TAIL]] = request
    row[TAIL] = request
    row[WAITING] += 1


@compiled
def queue_first(row: Any, waiting: Any, request: int) -> None:
    """Put a preempted request before all that wait."""
    waiting[request] = row[HEAD]
    row[HEAD] = request
    if row[TAIL] == NONE:
        row[TAIL] = request
    row[WAITING] += 1


@compiled
def take_first(row: Any, waiting: Any) -> int:
    """Remove the head of the waiting queue."""
    request = row[HEAD]
    row[HEAD] = waiting[request]
    if row[HEAD] == NONE:
        row[TAIL] = NONE
    row[WAITING] -= 1
    return int(request)


@compiled
def open_slot(row: Any, slot: Any) -> int:
    """A free slot, linked in as the request admitted last."""
    one = row[SPARE]
    row[SPARE] = slot[one, NEXT]
    slot[one, PREV] = row[LAST]
    slot[one, NEXT] = NONE
    if row[LAST] == NONE:
        row[FIRST] = one
    else:
        slot[row[LAST], NEXT] = one
    row[LAST] = one
    row[RUNNING] += 1
    slot[one, SEQ] = row[ORDER]
    row[ORDER] += 1
    return int(one)


@compiled
def close_slot(row: Any, slot: Any, one: int) -> None:
    """Unlink a slot and make it free."""
    before, after = slot[one, PREV], slot[one, NEXT]
    if before == NONE:
        row[FIRST] = after
    else:
        slot[before, NEXT] = after
    if after == NONE:
        row[LAST] = before
    else:
        slot[after, PREV] = before
    slot[one, NEXT] = row[SPARE]
    row[SPARE] = one
    row[RUNNING] -= 1


@compiled
def context_of(row: Any, slot: Any, one: int) -> int:
    """Tokens whose KV a decoding request holds, before the step that is next or running."""
    return int(slot[one, BASE] + row[STEP] - slot[one, BEGAN])


@compiled
def start_decoding(fleet: Any, rules: Any, replica: int, one: int, output: int) -> None:
    """The first token is made: decode from the next step on, known to end in a certain one."""
    row, slot = fleet.replica[replica], fleet.slot[replica]
    step = row[STEP]
    slot[one, BEGAN] = step
    slot[one, BASE] = slot[one, TARGET]
    context = slot[one, BASE]
    phase = (step + (rules.block - context % rules.block) % rules.block) % rules.block
    slot[one, PHASE] = phase
    fleet.phase[replica, phase] += 1
    ring = fleet.ring.shape[1]
    bucket = (step + output - slot[one, MADE] - 1) & (ring - 1)
    slot[one, FINISH] = bucket
    first = fleet.ring[replica, bucket]
    slot[one, BEFORE] = NONE
    slot[one, AFTER] = first
    if first != NONE:
        slot[first, BEFORE] = one
    fleet.ring[replica, bucket] = one
    row[DECODING] += 1
    row[CONTEXT] += context


@compiled
def stop_decoding(fleet: Any, replica: int, one: int) -> None:
    """Take a decoding request out of every count, at its end or when it is preempted."""
    row, slot = fleet.replica[replica], fleet.slot[replica]
    row[CONTEXT] -= context_of(row, slot, one)
    row[DECODING] -= 1
    fleet.phase[replica, slot[one, PHASE]] -= 1
    before, after = slot[one, BEFORE], slot[one, AFTER]
    if before == NONE:
        fleet.ring[replica, slot[one, FINISH]] = after
    else:
        slot[before, AFTER] = after
    if after != NONE:
        slot[after, BEFORE] = before
    slot[one, BEGAN] = NONE


@compiled
def release(fleet: Any, rules: Any, replica: int, one: int, held: int) -> None:
    """Give blocks back: cached ones become idle, the chain's end as the oldest, the rest is free."""
    row, slot, hold = fleet.replica[replica], fleet.slot[replica], fleet.hold[replica, one]
    kept = 0
    for at in range(slot[one, OWNED] - 1, -1, -1):
        if hold[at] != NONE:
            let_go(row, fleet.entry[replica], hold[at])
            kept += rules.units
    row[FREE] += held - kept
    close_slot(row, slot, one)


@compiled
def held_blocks(row: Any, slot: Any, block: int, one: int) -> int:
    """KV blocks of a request: those of its admission, or those its context has grown to."""
    if slot[one, BEGAN] == NONE:
        return int(slot[one, HELD])
    return max(int(slot[one, HELD]), blocks_of(context_of(row, slot, one), block))


@cold
def make_visible(fleet: Any, router: Any, rules: Any, load: Any, where: tuple[int, int], upto: int) -> None:
    """The request's own hash blocks up to `upto` become entries where nobody was first."""
    replica, one = where
    slot, hold = fleet.slot[replica], fleet.hold[replica, one]
    start = load.chain_at[slot[one, REQUEST]]
    for at in range(slot[one, OWNED], upto):
        hold[at] = enter(fleet, router, rules, replica, load.chain[start + at])
    slot[one, OWNED] = max(slot[one, OWNED], upto)


@cold
def preempt_last(fleet: Any, rules: Any, out: Any, replica: int) -> None:
    """The request admitted last gives all up and waits before all others; its tokens are kept as text."""
    row, slot = fleet.replica[replica], fleet.slot[replica]
    one = row[LAST]
    request = slot[one, REQUEST]
    held = held_blocks(row, slot, rules.block, one)
    if slot[one, BEGAN] != NONE:
        fleet.made[request] = slot[one, MADE] + row[STEP] - slot[one, BEGAN]
        stop_decoding(fleet, replica, one)
    else:
        row[PREFILLING] -= 1
    release(fleet, rules, replica, one, held)
    queue_first(row, fleet.waiting, request)
    out.preempted[request] += 1
    row[PREEMPTED] += 1


@compiled
def grow(fleet: Any, router: Any, rules: Any, out: Any, replica: int) -> bool:
    """Blocks for the tokens of the next step, by preemption where need be; true where one was preempted."""
    row = fleet.replica[replica]
    if rules.admission not in (RECOMPUTE, MAX_UTILIZATION):
        return False
    phase = fleet.phase[replica]
    before = row[PREEMPTED]
    at = row[STEP] % rules.block
    while phase[at] > 0 and not make_room(fleet, router, rules, replica, phase[at]):
        preempt_last(fleet, rules, out, replica)
    row[FREE] -= phase[at]
    return bool(row[PREEMPTED] > before)


@compiled
def matched_in(fleet: Any, rules: Any, load: Any, replica: int, request: int, prompt: int) -> int:
    """Hash blocks at the prompt's start that are cached; at least one token is left to compute."""
    if not rules.caching:
        return 0
    most = min(int(load.chain_blocks[request]), (prompt - 1) // rules.hash_block)
    start = load.chain_at[request]
    at = 0
    while at < most and find(fleet.keys[replica], fleet.values[replica], load.chain[start + at]) != NONE:
        at += 1
    return at


@cold
def matched_in_tier(fleet: Any, rules: Any, load: Any, where: tuple[int, int], at: int, prompt: int) -> int:
    """Hash blocks after those in the cache that the off-load tier has; they become its newest."""
    replica, request = where
    if rules.tier_room == 0:
        return at
    most = min(int(load.chain_blocks[request]), (prompt - 1) // rules.hash_block)
    start = load.chain_at[request]
    keys, values = fleet.tier_keys[replica], fleet.tier_values[replica]
    while at < most:
        one = find(keys, values, load.chain[start + at])
        if one == NONE:
            break
        unlink(fleet.replica[replica], fleet.tier[replica], one, TIER_OLDEST, TIER_NEWEST)
        append(fleet.replica[replica], fleet.tier[replica], one, TIER_OLDEST, TIER_NEWEST)
        at += 1
    return at


@compiled
def demand(rules: Any, load: Any, request: int, prompt: int) -> int:
    """KV blocks that admission gives a request, cached ones included."""
    if rules.admission == STATIC:
        return int(rules.static_blocks)
    if rules.admission == NO_EVICT:
        return blocks_of(load.tokens_in[request] + load.tokens_most[request], rules.block)
    return blocks_of(prompt, rules.block)


@compiled
def admit(fleet: Any, router: Any, rules: Any, load: Any, out: Any, replica: int) -> float:
    """Admit the head of the queue: off-load seconds of its hits, or -1 where there is no room for it."""
    row = fleet.replica[replica]
    request = row[HEAD]
    prompt = load.tokens_in[request] + fleet.made[request]
    matched = matched_in(fleet, rules, load, replica, request, prompt)
    entry, start = fleet.entry[replica], load.chain_at[request]
    one = row[SPARE]
    hold = fleet.hold[replica, one]
    need = demand(rules, load, request, prompt)
    idle = 0
    for at in range(matched):
        hold[at] = find(fleet.keys[replica], fleet.values[replica], load.chain[start + at])
        idle += entry[hold[at], USERS] == 0
    if row[FREE] + (row[IDLE] - idle) * rules.units < need - matched * rules.units:
        return -1.0
    for at in range(matched):
        hold_entry(row, entry, hold[at])
    make_room(fleet, router, rules, replica, need - matched * rules.units)
    row[FREE] -= need - matched * rules.units
    take_first(row, fleet.waiting)
    reach = matched_in_tier(fleet, rules, load, (replica, request), matched, prompt)
    seat(
        fleet,
        replica,
        open_slot(row, fleet.slot[replica]),
        (request, int(fleet.made[request]), int(prompt), need),
    )
    slot = fleet.slot[replica]
    slot[one, OWNED] = matched
    slot[one, DONE] = reach * rules.hash_block
    if out.hit[request] < 0:
        out.hit[request] = matched * rules.hash_block
        out.tier_hit[request] = (reach - matched) * rules.hash_block
    if rules.at_admission and rules.caching:
        most = min(int(load.chain_blocks[request]), int(prompt) // rules.hash_block)
        make_visible(fleet, router, rules, load, (replica, one), most)
    return float((reach - matched) * rules.hash_block * rules.tier_token_s)


@compiled
def seat(fleet: Any, replica: int, one: int, what: tuple[int, int, int, int]) -> None:
    """Fill a slot with an admitted request."""
    slot = fleet.slot[replica]
    slot[one, REQUEST], slot[one, MADE], slot[one, TARGET], slot[one, HELD] = what
    slot[one, BEGAN] = NONE
    slot[one, CHUNK] = 0
    fleet.replica[replica, PREFILLING] += 1


@compiled
def chunk_ms(steps: Any, fleet: Any, replica: int, one: int, budget: int) -> float:
    """Give a prefilling request its share of the budget; the time it takes, ms."""
    slot = fleet.slot[replica]
    tokens = min(slot[one, TARGET] - slot[one, DONE], budget)
    slot[one, CHUNK] = tokens
    middle = slot[one, DONE] + tokens / 2
    return float(tokens * (steps.token_ms + steps.token_kctx_ms * middle / 1000))


@compiled
def decode_ms(steps: Any, row: Any) -> tuple[float, float, float]:
    """Time of a decode step, bilinear in batch and mean context, linear beyond the last context.

    Gives ms, what a token more of mean context adds, ms, and for how many tokens that stays so.
    """
    batch, context = row[DECODING], row[CONTEXT] / row[DECODING]
    last, contexts = steps.contexts.size - 1, steps.contexts
    low, part = steps.low[batch], steps.part[batch]
    high, ms = min(low + 1, steps.batches.size - 1), steps.ms
    row[BEYOND] = int(last > 0 and context > contexts[last])
    if last == 0 or context <= contexts[0]:
        flat = ms[low, 0] + part * (ms[high, 0] - ms[low, 0])
        return float(flat), 0.0, contexts[0] - context if last > 0 else np.inf
    at = 0
    while at < last - 1 and contexts[at + 1] < context:
        at += 1
    start = ms[low, at] + part * (ms[high, at] - ms[low, at])
    end = ms[low, at + 1] + part * (ms[high, at + 1] - ms[low, at + 1])
    slope = (end - start) / (contexts[at + 1] - contexts[at])
    left = np.inf if row[BEYOND] else contexts[at + 1] - context
    return float(start + (context - contexts[at]) * slope), float(slope), float(left)


@compiled
def steps_alike(fleet: Any, rules: Any, replica: int, tokens: float) -> int:
    """Decode steps that can be taken as one: until a request ends or blocks run short.

    `tokens` is how far the mean context may grow. Nothing that a router reads may change meanwhile, so
    blocks are taken from free ones only where it knows the cache.
    """
    row = fleet.replica[replica]
    if rules.watched:
        return 1
    most = 1 << 30 if tokens >= 1 << 30 else int(tokens) + 1
    if rules.admission in (RECOMPUTE, MAX_UTILIZATION):
        room = row[FREE] + (0 if rules.indexed else row[IDLE] * rules.units)
        most = min(most, 1 + room // row[DECODING] * rules.block)
    count, mask = 1, fleet.ring.shape[1] - 1
    while count < most and fleet.ring[replica, (row[STEP] + count - 1) & mask] == NONE:
        count += 1
    return count


@compiled
def first_prefilling(fleet: Any, replica: int) -> int:
    """The prefilling request that was admitted first; prefilling ones are the last admitted."""
    row, slot = fleet.replica[replica], fleet.slot[replica]
    one = row[LAST]
    left = row[PREFILLING]
    found = NONE
    while left > 0:
        if slot[one, BEGAN] == NONE:
            found = one
            left -= 1
        one = slot[one, PREV]
    return int(found)


@compiled
def plan_prefill(
    steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, int]
) -> float:
    """Share the budget of a step among prefilling requests and those admitted now; the time it adds, ms.

    `at` is the replica, and whether nobody may be admitted in this step.
    """
    replica, closed = at
    row, slot = fleet.replica[replica], fleet.slot[replica]
    budget, ms = rules.budget - row[DECODING], 0.0
    one = first_prefilling(fleet, replica)
    while one != NONE:
        if slot[one, BEGAN] == NONE:
            slot[one, CHUNK] = 0
            if budget > 0:
                ms += chunk_ms(steps, fleet, replica, one, budget)
                budget -= slot[one, CHUNK]
        one = slot[one, NEXT]
    while budget > 0 and not closed and row[WAITING] > 0 and row[RUNNING] < rules.seats:
        extra = admit(fleet, router, rules, load, out, replica)
        if extra < 0:
            break
        ms += extra * 1000 + chunk_ms(steps, fleet, replica, row[LAST], budget)
        budget -= slot[row[LAST], CHUNK]
    return ms


@compiled
def begin_step(steps: Any, fleet: Any, router: Any, rules: Any, load: Any, out: Any, replica: int) -> bool:
    """Plan the next step, or several alike; false where the replica has nothing to do."""
    row = fleet.replica[replica]
    closed = grow(fleet, router, rules, out, replica)
    ms = 0.0
    if row[PREFILLING] > 0 or row[WAITING] > 0:
        ms = plan_prefill(steps, fleet, router, rules, load, out, (replica, 1 if closed else 0))
    if row[DECODING] == 0 and row[PREFILLING] == 0:
        return False
    slope, tokens = 0.0, 0.0
    row[BEYOND] = 0
    if row[DECODING] > 0:
        decoding, slope, tokens = decode_ms(steps, row)
        ms += decoding
    else:
        ms += steps.base_ms
    alone = row[PREFILLING] > 0 or (closed and row[WAITING] > 0)
    row[PLANNED] = 1 if alone else steps_alike(fleet, rules, replica, tokens)
    fleet.pace[replica, 1], fleet.pace[replica, 2] = ms / 1000, slope / 1000
    row[STEPS] += row[PLANNED]
    row[OUTSIDE] += row[PLANNED] * row[BEYOND]
    note_peak(row, rules)
    return True


@compiled
def note_peak(row: Any, rules: Any) -> None:
    """Most KV blocks that running requests have held."""
    row[PEAK] = max(row[PEAK], rules.pool - row[FREE] - row[IDLE] * rules.units)


@compiled
def span(pace: Any, count: int) -> float:
    """Seconds of the first steps of a plan."""
    return float(count * pace[1] + pace[2] * (count * (count - 1) / 2))


@compiled
def cut_short(fleet: Any, replica: int, now: float) -> float:
    """End the plan with the step that is running; gives the time of its end."""
    row, pace = fleet.replica[replica], fleet.pace[replica]
    planned, past = row[PLANNED], now - pace[0]
    half = pace[1] - pace[2] / 2
    if pace[2] > 0:
        count = int((np.sqrt(half * half + 2 * pace[2] * past) - half) / pace[2])
    else:
        count = int(past / pace[1]) if pace[1] > 0 else planned
    count = max(1, min(count, planned))
    while count < planned and pace[0] + span(pace, count) <= now:
        count += 1
    while count > 1 and pace[0] + span(pace, count - 1) > now:
        count -= 1
    row[PLANNED] = count
    row[STEPS] -= planned - count
    row[OUTSIDE] -= (planned - count) * row[BEYOND]
    fleet.busy[replica] -= span(pace, planned) - span(pace, count)
    return float(pace[0] + span(pace, count))


@compiled
def catch_up(fleet: Any, router: Any, rules: Any, replica: int) -> None:
    """Apply all steps of a plan but the last one, which is left running."""
    row = fleet.replica[replica]
    more = row[PLANNED] - 1
    if more <= 0:
        return
    row[PLANNED] = 1
    if rules.admission in (RECOMPUTE, MAX_UTILIZATION):
        blocks = more // rules.block * row[DECODING]
        for ahead in range(more % rules.block):
            blocks += fleet.phase[replica, (row[STEP] + 1 + ahead) % rules.block]
        make_room(fleet, router, rules, replica, blocks)
        row[FREE] -= blocks
    row[STEP] += more
    row[CONTEXT] += more * row[DECODING]
    note_peak(row, rules)


@compiled
def ended_slots(fleet: Any, replica: int) -> int:
    """Slots whose requests end with the running step, by admission, into the scratch; their number."""
    row, slot, found = fleet.replica[replica], fleet.slot[replica], fleet.scratch
    one = fleet.ring[replica, row[STEP] & (fleet.ring.shape[1] - 1)]
    count = 0
    while one != NONE:
        at = count
        while at > 0 and slot[found[at - 1], SEQ] > slot[one, SEQ]:
            found[at] = found[at - 1]
            at -= 1
        found[at] = one
        count += 1
        one = slot[one, AFTER]
    return count


@compiled
def advance_prefill(fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, float]) -> int:
    """Add the step's chunks; a prompt that is done gives its first token. Gives how many end with that token.

    They follow the decoding ones that end in the scratch, from `fleet.scratch[seats]` on.
    """
    replica, now = at
    slot = fleet.slot[replica]
    ends, one = 0, first_prefilling(fleet, replica)
    while one != NONE:
        after = slot[one, NEXT]
        if slot[one, BEGAN] == NONE:
            slot[one, DONE] += slot[one, CHUNK]
            if slot[one, DONE] == slot[one, TARGET]:
                ends += first_token(fleet, router, rules, load, out, (replica, int(one), ends, now))
        one = after
    return ends


@compiled
def first_token(
    fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, int, int, float]
) -> int:
    """A prompt is computed: blocks become visible, a token is made. 1 where it is the last one, else 0."""
    replica, one, ends, now = at
    row, slot = fleet.replica[replica], fleet.slot[replica]
    request = slot[one, REQUEST]
    router.pending[replica] -= load.tokens_in[request] if out.first[request] != out.first[request] else 0
    if out.first[request] != out.first[request]:
        out.first[request] = now
    if rules.caching:
        most = min(int(load.chain_blocks[request]), int(slot[one, TARGET]) // rules.hash_block)
        make_visible(fleet, router, rules, load, (replica, one), most)
    slot[one, MADE] += 1
    row[PREFILLING] -= 1
    if slot[one, MADE] >= load.tokens_out[request]:
        fleet.scratch[rules.seats + ends] = one
        slot[one, BEGAN] = row[STEP]
        slot[one, BASE] = slot[one, TARGET]
        slot[one, PHASE] = NONE
        return 1
    start_decoding(fleet, rules, replica, one, load.tokens_out[request])
    return 0


@compiled
def finish(fleet: Any, router: Any, rules: Any, load: Any, out: Any, at: tuple[int, int, float]) -> int:
    """A request ends: its output becomes visible, its blocks are released; gives the request."""
    replica, one, now = at
    row, slot = fleet.replica[replica], fleet.slot[replica]
    request = slot[one, REQUEST]
    if rules.caching and rules.outputs:
        tokens = load.tokens_in[request] + load.tokens_out[request] - 1
        most = min(int(load.chain_blocks[request]), int(tokens) // rules.hash_block)
        make_visible(fleet, router, rules, load, (replica, one), most)
    held = held_blocks(row, slot, rules.block, one)
    if slot[one, PHASE] != NONE:
        stop_decoding(fleet, replica, one)
    release(fleet, rules, replica, one, held)
    out.ended[request] = now
    out.status[request] = 0
    return int(request)
