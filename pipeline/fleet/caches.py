"""The prefix cache of a replica and its off-load tier: hash tables with a list of idle entries by age."""

from __future__ import annotations

from typing import Any

from pipeline.fleet.compiled import cold, compiled
from pipeline.fleet.state import (
    BLOCK,
    ENTRY_SPARE,
    FREE,
    IDLE,
    NEWER,
    NEWEST,
    NONE,
    OLDER,
    OLDEST,
    TIER_NEWEST,
    TIER_OLDEST,
    TIER_SPARE,
    USERS,
)

_MIX = 2654435761


@compiled
def find(keys: Any, values: Any, block: int) -> int:
    """Entry of a hash block in one owner's table, -1 where it has none."""
    mask = keys.size - 1
    at = (block * _MIX) & mask
    while keys[at] != NONE:
        if keys[at] == block:
            return int(values[at])
        at = (at + 1) & mask
    return NONE


@compiled
def put(keys: Any, values: Any, block: int, entry: int) -> None:
    """Enter a hash block that is not there yet."""
    mask = keys.size - 1
    at = (block * _MIX) & mask
    while keys[at] != NONE:
        at = (at + 1) & mask
    keys[at] = block
    values[at] = entry


@compiled
def drop(keys: Any, values: Any, block: int) -> None:
    """Remove a hash block, closing the gap so that no search ends early."""
    mask = keys.size - 1
    at = (block * _MIX) & mask
    while keys[at] != block:
        at = (at + 1) & mask
    hole = at
    while True:
        at = (at + 1) & mask
        if keys[at] == NONE:
            break
        ideal = (keys[at] * _MIX) & mask
        if ((at - ideal) & mask) >= ((at - hole) & mask):
            keys[hole] = keys[at]
            values[hole] = values[at]
            hole = at
    keys[hole] = NONE


@compiled
def unlink(row: Any, entry: Any, one: int, oldest: int, newest: int) -> None:
    """Take an entry out of a list by age."""
    older, newer = entry[one, OLDER], entry[one, NEWER]
    if older == NONE:
        row[oldest] = newer
    else:
        entry[older, NEWER] = newer
    if newer == NONE:
        row[newest] = older
    else:
        entry[newer, OLDER] = older


@compiled
def append(row: Any, entry: Any, one: int, oldest: int, newest: int) -> None:
    """Put an entry at the new end of a list by age."""
    last = row[newest]
    entry[one, OLDER] = last
    entry[one, NEWER] = NONE
    if last == NONE:
        row[oldest] = one
    else:
        entry[last, NEWER] = one
    row[newest] = one


@compiled
def hold_entry(row: Any, entry: Any, one: int) -> None:
    """A request starts to use an entry; an idle one leaves the list."""
    if entry[one, USERS] == 0:
        unlink(row, entry, one, OLDEST, NEWEST)
        row[IDLE] -= 1
    entry[one, USERS] += 1


@compiled
def let_go(row: Any, entry: Any, one: int) -> None:
    """A request ends its use of an entry; without users it becomes idle, newest."""
    entry[one, USERS] -= 1
    if entry[one, USERS] == 0:
        append(row, entry, one, OLDEST, NEWEST)
        row[IDLE] += 1


@compiled
def enter(fleet: Any, router: Any, rules: Any, replica: int, block: int) -> int:
    """A request's own blocks become an entry with one user; gives the entry, -1 where the block has one."""
    keys, values, entry = fleet.keys[replica], fleet.values[replica], fleet.entry[replica]
    if find(keys, values, block) != NONE:
        return NONE
    row = fleet.replica[replica]
    one = row[ENTRY_SPARE]
    row[ENTRY_SPARE] = entry[one, NEWER]
    entry[one, BLOCK] = block
    entry[one, USERS] = 1
    put(keys, values, block, one)
    if rules.indexed:
        router.seen[block, replica >> 6] |= 1 << (replica & 63)
    return int(one)


@compiled
def evict(fleet: Any, router: Any, rules: Any, replica: int) -> None:
    """The oldest idle entry gives its KV blocks back; the off-load tier keeps its content."""
    row, entry = fleet.replica[replica], fleet.entry[replica]
    one = row[OLDEST]
    block = entry[one, BLOCK]
    unlink(row, entry, one, OLDEST, NEWEST)
    row[IDLE] -= 1
    row[FREE] += rules.units
    drop(fleet.keys[replica], fleet.values[replica], block)
    entry[one, NEWER] = row[ENTRY_SPARE]
    row[ENTRY_SPARE] = one
    if rules.indexed:
        router.seen[block, replica >> 6] &= ~(1 << (replica & 63))
    if rules.tier_room > 0:
        off_load(fleet, replica, block)


@cold
def off_load(fleet: Any, replica: int, block: int) -> None:
    """Keep a hash block in the tier, newest; the oldest makes room."""
    row, tier = fleet.replica[replica], fleet.tier[replica]
    keys, values = fleet.tier_keys[replica], fleet.tier_values[replica]
    one = find(keys, values, block)
    if one != NONE:
        unlink(row, tier, one, TIER_OLDEST, TIER_NEWEST)
    else:
        one = row[TIER_SPARE]
        if one == NONE:
            one = row[TIER_OLDEST]
            unlink(row, tier, one, TIER_OLDEST, TIER_NEWEST)
            drop(keys, values, tier[one, BLOCK])
        else:
            row[TIER_SPARE] = tier[one, NEWER]
        tier[one, BLOCK] = block
        put(keys, values, block, one)
    append(row, tier, one, TIER_OLDEST, TIER_NEWEST)


@cold
def evict_until(fleet: Any, router: Any, rules: Any, replica: int, blocks: int) -> None:
    """Evict idle entries until so many KV blocks are free."""
    while fleet.replica[replica, FREE] < blocks:
        evict(fleet, router, rules, replica)


@compiled
def make_room(fleet: Any, router: Any, rules: Any, replica: int, blocks: int) -> bool:
    """Free at least `blocks` KV blocks by evicting idle entries; false, nothing done, if that is too few."""
    row = fleet.replica[replica]
    if row[FREE] + row[IDLE] * rules.units < blocks:
        return False
    if row[FREE] < blocks:
        evict_until(fleet, router, rules, replica, blocks)
    return True


@cold
def forget(fleet: Any, router: Any, rules: Any, replica: int) -> None:
    """Empty the cache's idle entries and the tier, as a restart does."""
    row, tier = fleet.replica[replica], fleet.tier[replica]
    while row[IDLE] > 0:
        evict(fleet, router, rules, replica)
    while rules.tier_room > 0 and row[TIER_OLDEST] != NONE:
        one = row[TIER_OLDEST]
        unlink(row, tier, one, TIER_OLDEST, TIER_NEWEST)
        drop(fleet.tier_keys[replica], fleet.tier_values[replica], tier[one, BLOCK])
        tier[one, NEWER] = row[TIER_SPARE]
        row[TIER_SPARE] = one
