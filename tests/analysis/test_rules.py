"""Points and sides: the arithmetic under every verdict."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.analysis.rules import Band, Point, points_of, side
from pipeline.errors import CheckFailed
from pipeline.schemas.claim import Evidence, Rule


def block(lane: str = "cpu") -> Evidence:
    values = {"lane": lane, "kind": "sign", "quantity": "a quantity", "sql": "SELECT 1 AS x"}
    return Evidence.model_validate(values | {"rule": {"when": "above", "threshold": 0.0}})


def rule(when: str, threshold: float, **noise: Any) -> Rule:
    spec = {"experiment": "batch", "metric": "tpot_p50_ms", "relative": False, "no_difference": 0.0} | noise
    return Rule.model_validate({"when": when, "threshold": threshold, "noise": spec if noise else None})


def at(value: float) -> Point:
    return Point("p", value, None, None, 3, None)


def test_a_measured_point_is_the_median_with_its_smallest_and_largest_repeat() -> None:
    rows = [{"point": "a", "value": value} for value in (3.0, 1.0, 2.5, None)]
    (point,) = points_of(block(), rows)
    assert (point.value, point.low, point.high, point.n) == (2.5, 1.0, 3.0, 3)


def test_a_computed_point_carries_its_own_bounds() -> None:
    (point,) = points_of(block("derived"), [{"point": "a", "value": 5.0, "low": 4.0, "high": 7.0}])
    assert (point.value, point.low, point.high) == (5.0, 4.0, 7.0)


def test_the_interval_of_sweeps_is_that_of_order_statistics() -> None:
    # For n = 10 the 95 % interval of a median runs from the 2nd to the 9th value (binomial: 97.9 %).
    rows = [{"point": "a", "value": float(value)} for value in range(1, 11)]
    (point,) = points_of(block("published"), rows)
    assert (point.value, point.low, point.high) == (5.5, 2.0, 9.0)


def test_a_query_without_the_agreed_columns_is_refused() -> None:
    with pytest.raises(CheckFailed, match="columns point and value"):
        points_of(block(), [{"pool": "a", "hits": 1}])


@pytest.mark.parametrize(
    ("when", "value", "expected"),
    [
        ("above", 1.01, "for"),
        ("above", 1.0, "against"),
        ("at least", 1.0, "for"),
        ("below", 1.0, "against"),
        ("at most", 1.0, "for"),
        ("at most", 1.01, "against"),
    ],
)
def test_a_side_by_threshold(when: str, value: float, expected: str) -> None:
    assert side(rule(when, 1.0), at(value), None) == expected


@pytest.mark.parametrize("inside", ["true", "false", "undecided"])
def test_inside_the_band_the_rule_says_what_no_difference_means(inside: str) -> None:
    expected = {"true": "for", "false": "against", "undecided": "undecided"}[inside]
    judged = rule("above", 0.0, inside=inside)
    assert side(judged, at(0.5), Band(relative=0.0, absolute=0.5)) == expected
    assert side(judged, at(0.51), Band(relative=0.0, absolute=0.5)) == "for"
    assert side(judged, at(-0.51), Band(relative=0.0, absolute=0.5)) == "against"


def test_a_relative_band_is_a_share_of_no_difference() -> None:
    judged = rule("above", 1.0, inside="false", relative=True, no_difference=1.0)
    assert side(judged, at(1.09), Band(relative=0.1, absolute=9.0)) == "against"
    assert side(judged, at(1.11), Band(relative=0.1, absolute=9.0)) == "for"
