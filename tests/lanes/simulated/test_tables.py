"""What follows from the grid: exchange rate, regional caches, experts."""

import pytest

from pipeline.lanes.simulated.capacity import smallest_fleet
from pipeline.lanes.simulated.exchange import winner
from pipeline.lanes.simulated.experts import TRILLION, draw, moe_rows
from pipeline.lanes.simulated.regional_cache import crossing, lru_hits, region_row


@pytest.mark.parametrize(
    ("better", "same", "doubled", "wins"),
    [
        (100.0, 300.0, 200.0, "routing"),
        (200.0, 300.0, 100.0, "memory"),
        (290.0, 300.0, 295.0, "neither"),
        (330.0, 300.0, 299.0, "neither"),
        (100.0, None, None, "routing"),
        (None, None, 900.0, "memory"),
        (None, None, None, "overload"),
        (100.0, None, 100.0, "routing"),
    ],
)
def test_what_lowers_the_tail_more_wins(
    better: float | None, same: float | None, doubled: float | None, wins: str
) -> None:
    assert winner(better, same, doubled) == wins


def test_seventy_per_cent_is_reached_only_above_a_share_that_depends_on_the_cache() -> None:
    def saving(share: float, cache: float) -> float:
        return region_row("zipf", share, 0.6, cache, [crossing(share, cache, 0.6, 1)]).saving

    assert saving(0.6, 0.0) < 0.70 < saving(0.75, 0.0)
    assert saving(0.3, 0.1) < 0.70 < saving(0.7, 0.1)
    assert saving(0.0, 0.1) < 0.35


def test_the_least_recently_used_prefix_goes_first() -> None:
    assert lru_hits([1, 2, 1, 3, 1, 2], room=2).tolist() == [False, False, True, False, True, False]
    assert not lru_hits([1, 1, 1], room=0).any()


def test_without_a_cache_a_request_crosses_unless_its_prefix_is_at_home() -> None:
    run = crossing(0.5, 0.0, 0.0, 1)
    assert run.missed == run.foreign
    assert run.missed / run.requests == pytest.approx(0.5 * 0.75, abs=0.02)


def test_a_token_reaches_more_chips_the_more_there_are_and_popular_experts_make_one_busy() -> None:
    few, many = draw(TRILLION, 8, 0.0, 1), draw(TRILLION, 64, 0.0, 1)
    assert few.copies < many.copies < TRILLION.chosen
    assert few.nodes == 0
    assert draw(TRILLION, 64, 1.0, 1).imbalance > 3 * many.imbalance


def test_one_node_sends_nothing_between_nodes() -> None:
    rows = list(moe_rows({"link": 50.0}, chips=(8,)))
    assert {row.all_to_all_ms for row in rows} == {0.0}
    assert all(row.mb_per_token > 0 for row in rows)


@pytest.mark.parametrize("needed", [64, 100, 777, 2048])
def test_the_smallest_fleet_is_found_within_three_per_cent(needed: int) -> None:
    found = smallest_fleet(lambda replicas: replicas >= needed)
    assert found is not None
    assert needed <= found <= needed * 1.031 + 1


def test_no_fleet_is_no_number() -> None:
    assert smallest_fleet(lambda replicas: False) is None
