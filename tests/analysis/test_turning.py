"""What would turn a verdict, on values that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.analysis.rules import Band, Point, turns_at
from pipeline.analysis.splits import NAMED, Placed, splits
from pipeline.analysis.verdicts import Weighed, weigh
from pipeline.paths import Workspace
from pipeline.schemas.claim import Rule
from tests.analysis.made import RATIO, TODAY, batch, checkout, claim_file, promoted

ONE = [10.0, 10.0, 10.0]
WITH_PLACE = RATIO.replace("AS value\n", "AS value, many.concurrency AS dimension_value\n")


def point(value: float) -> Point:
    return Point("p", value, None, None, 3, None)


def rule(when: str, threshold: float, **noise: object) -> Rule:
    band = {"experiment": "batch", "metric": "tpot_p50_ms"} | noise if noise else None
    return Rule.model_validate({"when": when, "threshold": threshold, "noise": band})


@pytest.mark.parametrize(
    ("when", "value", "expected"),
    [("at least", 2.5, 1.8), ("at least", 1.2, 1.8), ("below", 1.8, 1.8), ("at most", 1.8, 1.8)],
)
def test_without_noise_a_point_turns_at_the_threshold(when: str, value: float, expected: float) -> None:
    assert turns_at(rule(when, 1.8), point(value), None) == expected


def test_inside_the_band_counts_as_no_difference_so_the_edge_of_the_band_turns() -> None:
    held = rule("at most", 1.0, relative=True, no_difference=1.0, inside="true")
    assert turns_at(held, point(1.2), Band(0.1, 1.0)) == pytest.approx(1.1)
    assert turns_at(held, point(1.05), Band(0.1, 1.0)) == pytest.approx(1.1)


def test_a_difference_above_zero_turns_at_the_upper_edge_of_an_absolute_band() -> None:
    more = rule("above", 0.0, relative=False, no_difference=0.0, inside="false")
    assert turns_at(more, point(0.5), Band(0.0, 0.2)) == pytest.approx(0.2)
    assert turns_at(more, point(-0.5), Band(0.0, 0.2)) == pytest.approx(0.2)


def test_a_band_that_is_a_share_of_the_value_itself_leaves_the_threshold() -> None:
    growth = rule("at least", 0.3, relative=True, no_difference=0.0, inside="false")
    assert turns_at(growth, point(0.02), Band(0.1, 9.0)) == 0.3


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return checkout(tmp_path)


def weighed(ws: Workspace, evidence: str = WITH_PLACE) -> Weighed:
    claim_file(ws, evidence, dimension_unit='"in flight"')
    (only,) = weigh(ws, today=TODAY)
    return only


def test_a_verdict_that_depends_says_where_it_flips(ws: Workspace) -> None:
    # The A/A band is 0.2 / 10.1 of the ratio; 10.1 over 10 is inside, 21 and 41 are beyond it.
    promoted(ws, batch(ONE, {4: [10.1] * 3, 8: [21.0] * 3, 16: [41.0] * 3}, twin=10.2))
    found = weighed(ws)
    assert (found.verdict.verdict, found.verdict.dimension) == ("depends", "concurrency")
    (cut,) = found.splits
    assert (cut.dimension, cut.named, cut.cut_low, cut.cut_high, cut.unit) == (
        *("concurrency", True, 4.0, 8.0),
        "in flight",
    )
    assert (cut.verdict_inside, cut.verdict_outside, cut.misplaced) == ("holds", "fails", 0)
    edge = 1 + 0.2 / 10.1
    assert cut.turns_near == pytest.approx(4 + (edge - 1.01) / (2.1 - 1.01) * 4)


def test_each_deciding_point_says_how_far_it_is_from_turning(ws: Workspace) -> None:
    promoted(ws, batch(ONE, {4: [20.0, 22.0, 21.0], 16: [40.0, 42.0, 41.0]}, twin=10.2))
    found = weighed(ws)
    assert found.splits == []
    assert [(each.point, each.value, each.says) for each in found.thresholds] == [
        ("4 in flight", 2.1, "against"),
        ("16 in flight", 4.1, "against"),
    ]
    assert found.thresholds[0].turns_at == pytest.approx(1 + 0.2 / 10.1)
    assert found.thresholds[0].away == pytest.approx(1 + 0.2 / 10.1 - 2.1)
    assert not found.thresholds[0].straddles


def test_an_interval_across_the_threshold_is_called_so(ws: Workspace) -> None:
    promoted(ws, batch(ONE, {4: [10.0, 11.0, 12.0]}, twin=10.2))
    assert [each.straddles for each in weighed(ws).thresholds] == [True]


def test_a_column_that_parts_the_data_better_is_proposed(ws: Workspace) -> None:
    # Concurrency does not part the sides (fails, holds, fails); the model does.
    rows = ["'a', 2.0, 4, 'small'", "'b', 1.0, 8, 'large'", "'c', 2.0, 16, 'small'", "'d', 2.0, 32, 'small'"]
    values = ", ".join(f"({row}, DATE '2026-11-05')" for row in rows)
    evidence = f"""
    [[evidence]]
    lane = "published"
    kind = "engine_vs_engine"
    quantity = "latency over latency at 1 in flight"
    sql = "SELECT * FROM (VALUES {values}) AS t(point, value, dimension_value, model, dated)"
    [evidence.rule]
    when = "at most"
    threshold = 1.5
    """
    found = weighed(ws, evidence)
    assert found.verdict.verdict == "depends"
    (other,) = found.splits
    assert (other.dimension, other.better, other.cut_text, other.misplaced) == ("model", True, "small", 0)
    assert (other.verdict_inside, other.verdict_outside) == ("fails", "holds")
    assert other.gain_bits == pytest.approx(0.811, abs=1e-3)


def test_points_without_further_columns_part_nothing() -> None:
    assert splits([Placed(point(1.0), "for", 1.5), Placed(point(2.0), "against", 1.5)]) == []


def test_between_several_points_at_the_cut_nothing_is_interpolated() -> None:
    placed = [
        Placed(Point("a", 1.0, None, None, 1, None, columns={NAMED: 4.0}), "for", 1.5),
        Placed(Point("b", 1.2, None, None, 1, None, columns={NAMED: 4.0}), "for", 1.5),
        Placed(Point("c", 2.0, None, None, 1, None, columns={NAMED: 8.0}), "against", 1.5),
    ]
    (cut,) = splits(placed)
    assert (cut.last, cut.first, cut.at) == (4.0, 8.0, None)
