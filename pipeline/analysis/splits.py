"""Where a verdict that depends turns: for each column of the evidence, the one cut that parts it best.

A cut is judged by its information gain, the entropy of the sides before less after (a decision tree with one
split; Quinlan 1986, Induction of decision trees). Sides that no single cut parts keep some points misplaced.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.analysis.rules import Point, Side

NAMED = "dimension_value"
"""Column of the evidence that carries the value of the claim's own dimension."""


@dataclass(frozen=True)
class Placed:
    """A decided point, and the value at which it would turn."""

    point: Point
    side: Side
    turns_at: float | None


@dataclass(frozen=True)
class Split:
    """The best cut along one column.

    Attributes:
        column: column of the evidence.
        gain: information gain, bits; 0 parts nothing, the entropy of the sides parts all.
        group: the text that stands alone, null for a number.
        last: largest number on the first side, null for a text.
        first: smallest number on the other side, null for a text.
        at: where the quantity meets its threshold, by linear interpolation between the two; null where that
            cannot be said.
        inside: side of the group, or of numbers up to `last`.
        outside: side of all others.
        misplaced: points that lie on the wrong side of the cut.
        points: points that carry the column.
    """

    column: str
    gain: float
    group: str | None
    last: float | None
    first: float | None
    at: float | None
    inside: Side
    outside: Side
    misplaced: int
    points: int


def splits(placed: Sequence[Placed]) -> list[Split]:
    """The best cut of each column that parts anything, best first; the named one first among equals."""
    columns = dict.fromkeys(name for each in placed for name in each.point.columns)
    found = [cut for column in columns if (cut := _best(column, placed)) is not None]
    return sorted(found, key=lambda cut: (-cut.gain, cut.column != NAMED, cut.column))


def _best(column: str, placed: Sequence[Placed]) -> Split | None:
    having = [each for each in placed if column in each.point.columns]
    if any(isinstance(each.point.columns[column], str) for each in having):
        cuts = list(_by_text(column, having))
    else:
        cuts = list(_by_number(column, having))
    return max(cuts, key=lambda cut: (cut.gain, -cut.misplaced), default=None)


def _by_text(column: str, placed: Sequence[Placed]) -> Iterator[Split]:
    for text in dict.fromkeys(str(each.point.columns[column]) for each in placed):
        inside = [each for each in placed if str(each.point.columns[column]) == text]
        outside = [each for each in placed if str(each.point.columns[column]) != text]
        yield from _cut(column, inside, outside, group=text)


def _by_number(column: str, placed: Sequence[Placed]) -> Iterator[Split]:
    values = sorted({float(each.point.columns[column]) for each in placed})
    for last, first in pairwise(values):
        inside = [each for each in placed if float(each.point.columns[column]) <= last]
        outside = [each for each in placed if float(each.point.columns[column]) >= first]
        yield from _cut(column, inside, outside, last=last, first=first)


def _cut(
    column: str,
    inside: Sequence[Placed],
    outside: Sequence[Placed],
    *,
    group: str | None = None,
    last: float | None = None,
    first: float | None = None,
) -> Iterator[Split]:
    """The cut between two groups, where it parts the sides at all."""
    if not outside:
        return
    whole = [*inside, *outside]
    after = sum(len(part) / len(whole) * _entropy(part) for part in (inside, outside))
    gain, here, there = _entropy(whole) - after, _majority(inside), _majority(outside)
    if gain <= 0 or here == there:
        return
    wrong = sum(each.side != here for each in inside) + sum(each.side != there for each in outside)
    at = None if last is None or first is None or wrong else _crossing(column, inside, outside, last, first)
    yield Split(column, gain, group, last, first, at, here, there, wrong, len(whole))


def _crossing(
    column: str, inside: Sequence[Placed], outside: Sequence[Placed], last: float, first: float
) -> float | None:
    """Where the quantity meets its threshold between the two points beside the cut."""
    before = [each for each in inside if each.point.columns[column] == last]
    after = [each for each in outside if each.point.columns[column] == first]
    if len(before) != 1 or len(after) != 1 or before[0].turns_at is None:
        return None
    low, high, level = before[0].point.value, after[0].point.value, before[0].turns_at
    if low == high or not min(low, high) <= level <= max(low, high):
        return None
    return last + (level - low) / (high - low) * (first - last)


def _majority(placed: Sequence[Placed]) -> Side:
    return Counter(each.side for each in placed).most_common(1)[0][0]


def _entropy(placed: Sequence[Placed]) -> float:
    shares = [count / len(placed) for count in Counter(each.side for each in placed).values()]
    return -sum(share * math.log2(share) for share in shares)
