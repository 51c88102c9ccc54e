"""Phases of a cell: the whole of it, its cold first half and its steady second half.

The split is by order of sending and is the same for all policies: in the first half the caches fill (and a
policy that spreads a prefix over all replicas pays for each of them), in the second they are as full as they
get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pipeline.schemas.cell import Workload
from pipeline.schemas.words import Phase

Item = TypeVar("Item")


def phases_of(workload: Workload) -> tuple[Phase, ...]:
    """Traffic that can hit a cache has a cold and a steady phase; the rest is one whole."""
    return ("whole", "cold", "steady") if workload.prefixes or workload.turns > 1 else ("whole",)


def part(items: Sequence[Item], phase: Phase) -> Sequence[Item]:
    """The items of a phase, in order of sending."""
    half = len(items) // 2
    return {"whole": items, "cold": items[:half], "steady": items[half:]}[phase]
