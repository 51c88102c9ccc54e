"""Workloads made by rule: without sharing, with Zipf-popular prefixes, with sessions that grow by turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pipeline.fleet.workload import Floats, Ints, Longs, Workload, refuse


def open_loop(
    arrival_s: ArrayLike,
    input_tokens: ArrayLike,
    output_tokens: ArrayLike,
    *,
    max_output_tokens: ArrayLike | None = None,
    region: ArrayLike | None = None,
    hash_block_tokens: int = 256,
) -> Workload:
    """Requests that share nothing.

    Args:
        arrival_s: float[requests], s, ordered.
        input_tokens: prompt, one number or one for each request.
        output_tokens: answer, same.
        max_output_tokens: longest answer allowed; the answer itself if not given.
        region: where each comes from.
        hash_block_tokens: tokens of a hash block.
    """
    times = np.asarray(arrival_s, np.float64)
    number = times.size
    output = _column("output_tokens", output_tokens, number)
    return Workload(
        times,
        _column("input_tokens", input_tokens, number),
        output,
        output if max_output_tokens is None else _column("max_output_tokens", max_output_tokens, number),
        np.zeros(number, np.int64),
        np.zeros(number, np.int32),
        np.zeros(0, np.int32),
        *_alone(number, region),
        hash_block_tokens,
    )


def zipf_prefixes(  # noqa: PLR0913
    arrival_s: ArrayLike,
    *,
    groups: int,
    prefix_tokens: ArrayLike,
    private_tokens: ArrayLike,
    output_tokens: ArrayLike,
    skew: float,
    hash_block_tokens: int = 256,
    max_output_tokens: ArrayLike | None = None,
    region: ArrayLike | None = None,
    regional_share: float = 0.0,
    private_blocks: bool = True,
    seed: int = 1,
) -> Workload:
    """Groups of requests with a common prefix; the group of rank k comes with a frequency like k ** -skew.

    Args:
        arrival_s: float[requests], s, ordered.
        groups: number of groups in all.
        prefix_tokens: common to a group, one number or one for each group.
        private_tokens: of each request alone, one number or one for each.
        output_tokens: answer, same.
        skew: exponent of the popularity; 0 is even.
        hash_block_tokens: tokens of a hash block.
        max_output_tokens: longest answer allowed; the answer itself if not given.
        region: where each comes from; needed for a regional share.
        regional_share: share of requests whose group belongs to their own region. That share of the groups is
            split evenly among the regions, so that the number of groups stays the same.
        private_blocks: whether full blocks after the prefix have ids, so that they take room in a cache as
            they do in an engine.
        seed: of the random numbers.
    """
    times = np.asarray(arrival_s, np.float64)
    rng = np.random.default_rng(seed)
    _check_groups(groups, skew, regional_share)
    where = None if region is None else _column("region", region, times.size)
    group = _draw_groups(rng, times.size, (groups, skew, regional_share), where)
    prefix = _column("prefix_tokens", prefix_tokens, groups)
    private = _column("private_tokens", private_tokens, times.size)
    output = _column("output_tokens", output_tokens, times.size)
    prompt = prefix[group] + private
    starts, blocks, ids = _prefix_chains(
        prefix // hash_block_tokens, group, (prompt + output) // hash_block_tokens if private_blocks else None
    )
    most = (
        output if max_output_tokens is None else _column("max_output_tokens", max_output_tokens, times.size)
    )
    nobody, _, regions, after, think = _alone(times.size, where)
    return Workload(
        times,
        prompt,
        output,
        most,
        starts,
        blocks,
        ids,
        nobody,
        group,
        regions,
        after,
        think,
        hash_block_tokens,
    )


def sessions(  # noqa: PLR0913
    *,
    sessions: int,
    turns: ArrayLike,
    first_tokens: ArrayLike,
    turn_tokens: ArrayLike,
    output_tokens: ArrayLike,
    think_s: ArrayLike,
    start_rate_per_s: float,
    shared_prefix_tokens: int = 0,
    hash_block_tokens: int = 256,
    max_output_tokens: ArrayLike | None = None,
    region: ArrayLike | None = None,
    seed: int = 1,
) -> Workload:
    """Closed loop: a turn's prompt holds all turns and answers before it, and comes after the last answer.

    Requests are in the order of sessions, and of turns within one.

    Args:
        sessions: number of sessions; they start as a Poisson process.
        turns: of each session, one number or one for each.
        first_tokens: prompt of the first turn after the shared prefix, one number or one for each session.
        turn_tokens: what a later turn adds, one number or one for each request.
        output_tokens: answer, one number or one for each request.
        think_s: mean of exponential think times, s; or the time before each request.
        start_rate_per_s: starts a second.
        shared_prefix_tokens: common to all sessions, such as a system prompt.
        hash_block_tokens: tokens of a hash block.
        max_output_tokens: longest answer allowed; the answer itself if not given.
        region: where each session is.
        seed: of the random numbers.
    """
    if sessions < 1:
        refuse(f"{sessions} sessions")
    length = _column("turns", turns, sessions)
    if length.min() < 1:
        refuse("a session without turns")
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(sessions, dtype=np.int32), length)
    begins = np.cumsum(length, dtype=np.int64) - length
    number = owner.size
    first = np.zeros(number, np.bool_)
    first[begins] = True
    output = _column("output_tokens", output_tokens, number)
    added = _column("turn_tokens", turn_tokens, number).astype(np.int64)
    added[1:] += output[:-1]
    added[begins] = shared_prefix_tokens + _column("first_tokens", first_tokens, sessions)
    running = np.cumsum(added)
    prompt = running - np.repeat(running[begins] - added[begins], length)
    starts, blocks, ids = _session_chains(
        (prompt + output) // hash_block_tokens,
        begins + length - 1,
        length,
        shared_prefix_tokens // hash_block_tokens,
    )
    most = output if max_output_tokens is None else _column("max_output_tokens", max_output_tokens, number)
    return Workload(
        _starts(rng, start_rate_per_s, sessions, first),
        prompt.astype(np.int32),
        output,
        most,
        starts,
        blocks,
        ids,
        owner,
        np.full(number, -1, np.int32),
        np.full(number, -1, np.int32) if region is None else _column("region", region, sessions)[owner],
        np.where(first, -1, np.arange(-1, number - 1)).astype(np.int32),
        _thinking(rng, think_s, number, first),
        hash_block_tokens,
    )


def _column(name: str, values: ArrayLike, number: int) -> Ints:
    """One number for all, or one for each, as int32."""
    given = np.asarray(values)
    if given.ndim and given.shape != (number,):
        refuse(f"{name} has shape {given.shape}, {number} values are needed")
    if not np.isfinite(given).all():
        refuse(f"{name} holds a value that is not finite")
    if given.ndim == 0:
        return np.full(number, int(given), np.int32)
    return given.astype(np.int32)


def _alone(number: int, region: ArrayLike | None) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    """Session, group, region, after and think time of requests that belong to nobody."""
    none = np.full(number, -1, np.int32)
    where = none if region is None else _column("region", region, number)
    return none, none, where, none, np.zeros(number)


def _check_groups(groups: int, skew: float, share: float) -> None:
    if groups < 1:
        refuse(f"{groups} groups")
    if not skew >= 0:
        refuse(f"skew is {skew}", next_step="give zero or more")
    if not 0 <= share <= 1:
        refuse(f"regional_share is {share}", next_step="give 0 to 1")


def _draw_groups(
    rng: np.random.Generator, number: int, kind: tuple[int, float, float], region: Ints | None
) -> Ints:
    """The group of each request: global groups first, then each region's own."""
    groups, skew, share = kind
    if share == 0:
        return _zipf(rng, groups, skew, number)
    if region is None or region.min() < 0:
        refuse("a regional share needs the region of every request", next_step="pass region")
    regions = int(region.max()) + 1
    own = max(1, round(groups * share / regions))
    world = groups - own * regions
    if world < (1 if share < 1 else 0):
        refuse(f"{groups} groups are too few for {regions} regions at a regional share of {share}")
    local = rng.random(number) < share
    group: Ints = (world + region * own + _zipf(rng, own, skew, number)).astype(np.int32)
    if world:
        group[~local] = _zipf(rng, world, skew, int((~local).sum()))
    return group


def _zipf(rng: np.random.Generator, ranks: int, skew: float, number: int) -> Ints:
    """Ranks from 0, by the inverse of the cumulative frequency."""
    heights = np.cumsum(np.arange(1, ranks + 1, dtype=np.float64) ** -skew)
    found = np.searchsorted(heights, rng.random(number) * heights[-1], side="right")
    rank: Ints = np.minimum(found, ranks - 1).astype(np.int32)
    return rank


def _prefix_chains(prefix_blocks: Ints, group: Ints, total: Ints | None) -> tuple[Longs, Ints, Ints]:
    """Start and length of each request's chain and all chains' ids; `total` blocks with private ones."""
    base = (np.cumsum(prefix_blocks, dtype=np.int64) - prefix_blocks).astype(np.int32)
    shared = int(prefix_blocks.sum())
    if total is None or (total == prefix_blocks[group]).all():
        return base[group].astype(np.int64), prefix_blocks[group], np.arange(shared, dtype=np.int32)
    starts = np.cumsum(total, dtype=np.int64) - total
    size = int(starts[-1] + total[-1])
    _check_ids(size)
    place = np.arange(size, dtype=np.int32) - np.repeat(starts.astype(np.int32), total)
    common = np.repeat(prefix_blocks[group], total)
    ids = np.repeat(base[group], total) + place
    private = place >= common
    del place, common
    ids[private] = np.arange(shared, shared + int(private.sum()), dtype=np.int32)
    return starts, total, ids


def _session_chains(total: Longs, last: Longs, length: Ints, shared: int) -> tuple[Longs, Ints, Ints]:
    """One stretch of ids for each session, of which each turn takes more; shared blocks come first."""
    size = total[last]
    begins = np.cumsum(size) - size
    _check_ids(int(size.sum()))
    place = np.arange(int(size.sum())) - np.repeat(begins, size)
    own = place >= shared
    ids = np.where(own, shared + np.cumsum(own) - 1, place)
    return np.repeat(begins, length), total.astype(np.int32), ids.astype(np.int32)


def _check_ids(size: int) -> None:
    if size > np.iinfo(np.int32).max:
        refuse(f"{size} hash blocks are too many", next_step="raise hash_block_tokens")


def _starts(rng: np.random.Generator, rate: float, number: int, first: np.ndarray[Any, Any]) -> Floats:
    if not (np.isfinite(rate) and rate > 0):
        refuse(f"start_rate_per_s is {rate}", next_step="give a finite number above zero")
    arrival = np.full(first.size, np.nan)
    arrival[first] = np.cumsum(rng.standard_exponential(number) / rate)
    return arrival


def _thinking(
    rng: np.random.Generator, think_s: ArrayLike, number: int, first: np.ndarray[Any, Any]
) -> Floats:
    given = np.asarray(think_s, np.float64)
    if given.ndim and given.shape != (number,):
        refuse(f"think_s has shape {given.shape}, {number} values are needed")
    if not (np.isfinite(given).all() and given.min() >= 0):
        refuse("think_s holds a value that is negative or not finite")
    times = given if given.ndim else rng.standard_exponential(number) * float(given)
    return np.where(first, 0.0, times)
