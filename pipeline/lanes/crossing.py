"""Where a curve over a resource (a KV pool, a number of GPUs) meets a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Median:
    """The median of one policy at one pool, or at one size of whatever is varied."""

    pool: float
    value: float
    repeats: int


def pool_that_reaches(
    curve: Sequence[Median], start: float, target: float, tolerance: float, better: float
) -> float | None:
    """The pool from `start` on at which a curve reaches a target; None where it does at none.

    Between two pools the curve is a line over log2 of the pool.

    Args:
        curve: medians of the baseline, by pool.
        start: pool to begin at, in the curve's unit.
        target: value to reach.
        tolerance: how far from the target still counts.
        better: 1 where more is better, -1 where less is.
    """
    below: Median | None = None
    for point in sorted((p for p in curve if p.pool >= start), key=lambda p: p.pool):
        gap = better * (target - point.value)
        if gap <= tolerance:
            return _crossing(below, point, target) if below and gap < 0 else float(point.pool)
        below = point
    return None


def _crossing(low: Median, high: Median, target: float) -> float:
    share = (target - low.value) / (high.value - low.value)
    return float(2 ** (math.log2(low.pool) + share * (math.log2(high.pool) - math.log2(low.pool))))
