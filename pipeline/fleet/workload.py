"""The requests of a simulation, as columns: one entry of each array is one request."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from pipeline.errors import InputError

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int32]]
Longs = np.ndarray[Any, np.dtype[np.int64]]

_TYPES = {"arrival_s": np.float64, "think_s": np.float64, "chain_start": np.int64}
_NOT_A_COLUMN = ("chain_ids", "hash_block_tokens")


def refuse(what: str, request: int | None = None, next_step: str | None = None) -> NoReturn:
    """Say what is wrong with the requests, and with which one."""
    where = "workload" if request is None else f"workload, request {request}"
    raise InputError(what, where=where, next_step=next_step)


@dataclass(frozen=True, eq=False)
class Workload:
    """Requests as numpy columns, checked when they are made.

    A request's prompt starts with hash blocks whose ids tell which text they hold: equal ids are equal text,
    with equal text before it. They are `chain_ids[chain_start : chain_start + chain_blocks]`; requests may
    share a stretch of `chain_ids`. Blocks after those of the prompt are those of the answer.

    Args:
        arrival_s: float64, s; ordered. NaN where the request waits for another's end.
        input_tokens: int32, prompt.
        output_tokens: int32, answer.
        max_output_tokens: int32, longest answer that the request allows: what some engines reserve.
        chain_start: int64, first hash block in chain_ids.
        chain_blocks: int32, full hash blocks of prompt and answer whose text is known.
        chain_ids: int32, ids from 0 without gaps.
        session: int32, -1 for none.
        group: int32, group with a common prefix, -1 for none.
        region: int32, where the request comes from, -1 for nowhere in particular.
        after: int32, request whose end sets this one off, -1 for none; it stands before this one.
        think_s: float64, s from that end to this arrival.
        hash_block_tokens: tokens of a hash block.

    Raises:
        InputError: a column that cannot be; says which request.
    """

    arrival_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    max_output_tokens: Ints
    chain_start: Longs
    chain_blocks: Ints
    chain_ids: Ints
    session: Ints
    group: Ints
    region: Ints
    after: Ints
    think_s: Floats
    hash_block_tokens: int

    def __post_init__(self) -> None:
        if self.hash_block_tokens < 1:
            refuse(f"hash blocks of {self.hash_block_tokens} tokens")
        for field in fields(self):
            if field.name != "hash_block_tokens":
                self._settle(field.name)
        _check_times(self)
        _check_tokens(self)
        _check_chains(self)

    def _settle(self, name: str) -> None:
        wanted = _TYPES.get(name, np.int32)
        column = np.ascontiguousarray(getattr(self, name), dtype=wanted)
        if name not in _NOT_A_COLUMN and column.shape != (self.arrival_s.size,):
            refuse(f"column {name} has shape {column.shape}, arrival_s {self.arrival_s.shape}")
        object.__setattr__(self, name, column)

    @property
    def requests(self) -> int:
        """Number of requests."""
        return int(self.arrival_s.size)

    @cached_property
    def block_count(self) -> int:
        """Number of distinct hash blocks: one more than the highest id."""
        return int(self.chain_ids.max()) + 1 if self.chain_ids.size else 0

    @property
    def has_sessions(self) -> bool:
        """Whether every request belongs to a session."""
        return bool((self.session >= 0).all())

    def describe(self) -> dict[str, float | int | None]:
        """What it is in numbers: requests, time (s), rate (1/s), tokens, sharing."""
        first = self.arrival_s[~np.isnan(self.arrival_s)]
        span = float(first[-1] - first[0])
        return {
            "requests": self.requests,
            "arrivals_span_s": span,
            "arrivals_per_s": (first.size - 1) / span if span > 0 else None,
            "input_tokens_mean": float(self.input_tokens.mean()),
            "input_tokens_max": int(self.input_tokens.max()),
            "output_tokens_mean": float(self.output_tokens.mean()),
            "output_tokens_max": int(self.output_tokens.max()),
            "hash_block_tokens": self.hash_block_tokens,
            "distinct_blocks": self.block_count,
            "sessions": int(self.session.max()) + 1,
            "groups": int(self.group.max()) + 1,
            "followers": int((self.after >= 0).sum()),
        }


def _first(wrong: np.ndarray[Any, np.dtype[np.bool_]]) -> int | None:
    """Place of the first wrong entry."""
    return int(wrong.argmax()) if wrong.any() else None


def _check_times(load: Workload) -> None:
    if load.requests == 0:
        refuse("a workload without requests", next_step="raise rate, duration or number")
    waits = load.after >= 0
    at = _first(np.isnan(load.arrival_s) != waits)
    if at is not None:
        refuse("arrival_s is NaN where nothing is waited for, or a time where something is", at)
    if waits.any():
        _check_followers(load, waits)
    fixed = load.arrival_s[~waits] if waits.any() else load.arrival_s
    if not np.isfinite(fixed).all() or fixed[0] < 0:
        refuse("an arrival time is negative or infinite")
    at = _first(np.diff(fixed) < 0)
    if at is not None:
        refuse(f"arrivals are out of order: {fixed[at + 1]} s comes after {fixed[at]} s", at + 1)


def _check_followers(load: Workload, waits: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    at = _first(load.after >= np.arange(load.requests))
    if at is not None:
        refuse(f"it waits for request {load.after[at]}, which is not before it", at)
    before = load.after[waits]
    if np.unique(before).size != before.size:
        refuse("two requests wait for the same one", next_step="let each request set off one other")
    at = _first(~(np.isfinite(load.think_s) & (load.think_s >= 0)))
    if at is not None:
        refuse(f"think time {load.think_s[at]} s", at)


def _check_tokens(load: Workload) -> None:
    for name in ("input_tokens", "output_tokens"):
        at = _first(getattr(load, name) < 1)
        if at is not None:
            refuse(f"{name} is {getattr(load, name)[at]}", at, "give one token or more")
    at = _first(load.max_output_tokens < load.output_tokens)
    if at is not None:
        refuse(f"an answer of {load.output_tokens[at]} tokens, {load.max_output_tokens[at]} allowed", at)


def _check_chains(load: Workload) -> None:
    if load.chain_ids.size and load.chain_ids.min() < 0:
        refuse("a hash block has a negative id")
    ends = load.chain_start + load.chain_blocks
    at = _first((load.chain_start < 0) | (load.chain_blocks < 0) | (ends > load.chain_ids.size))
    if at is not None:
        refuse("its hash blocks lie outside chain_ids", at)
    room = (load.input_tokens + load.output_tokens) // load.hash_block_tokens
    at = _first(load.chain_blocks > room)
    if at is not None:
        refuse(f"{load.chain_blocks[at]} hash blocks, but prompt and answer fill {room[at]}", at)
