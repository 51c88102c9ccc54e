"""Step tables and regions: numbers by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.fleet.regions import PLACES, Regions, cloud_regions, great_circle_km, round_trip_ms
from pipeline.fleet.steps import StepTable
from tests.fleet.made import TABLE, message


@pytest.mark.parametrize(
    ("batch", "context", "ms"),
    [
        (1, 1, 5),
        (4, 500, 7),
        (10, 500, 9.5),  # half way from 7 to 12
        (4, 2250, 11),  # half way from 7 to 15
        (2.5, 2250, 9.25),  # between 7.5 and 11
        (64, 7500, 150),  # straight on beyond the last context
        (900, 1, 12),  # the last batch stays
        (1, 0, 5),
    ],
)
def test_decode_times_are_bilinear(batch: float, context: float, ms: float) -> None:
    assert TABLE.decode_at(batch, context) == pytest.approx(ms)


def test_prefill_counts_tokens_and_what_stands_before_them() -> None:
    assert TABLE.prefill_at(1000) == pytest.approx(1000 * (0.02 + 0.001 * 0.5))
    assert TABLE.prefill_at(1000, 4000) == pytest.approx(1000 * (0.02 + 0.001 * 4.5))


def test_a_grid_fits_its_prefill_line() -> None:
    table = StepTable.from_grid([1, 8], [128], [[5], [6]], [100, 200, 400], [12, 17, 27])
    assert table.prefill_base_ms == pytest.approx(7)
    assert table.prefill_ms_per_token == pytest.approx(0.05)


def test_a_line_with_an_intercept_below_zero_goes_through_the_origin() -> None:
    table = StepTable.from_grid([1], [128], [[5]], [100, 200], [5, 20])
    assert table.prefill_base_ms == 0
    assert table.prefill_ms_per_token == pytest.approx((500 + 4000) / 50_000)


def test_a_roofline_reads_weights_once_a_step() -> None:
    table = StepTable.from_roofline(16, 128, 8, 3350, 989, mbu=0.8, mfu=0.5, overhead_ms=2)
    weights_ms = 16 * 2**30 / 3350e9 / 0.8 * 1000
    assert table.decode_at(1, 1) == pytest.approx(weights_ms + 2, rel=1e-3)
    assert table.decode_at(64, 8192) - table.decode_at(1, 1) == pytest.approx(
        64 * 8192 * 128 * 1024 / 3350e9 / 0.8 * 1000, rel=0.01
    )
    assert table.prefill_ms_per_token == pytest.approx(16e9 / (989e12 * 0.5) * 1000)


def test_tables_with_holes_or_times_that_fall_are_refused() -> None:
    def grid(ms: object, batches: tuple[float, ...] = (1, 8)) -> StepTable:
        return StepTable(np.array(batches), np.array([128.0]), np.array(ms), 1.0, 0.1)

    assert "no time at batch 8, context 128" in message(lambda: grid([[5.0], [np.nan]]))
    assert "faster as the batch grows, at batch 1" in message(lambda: grid([[5.0], [4.0]]))
    assert "shape (1, 1)" in message(lambda: grid([[5.0]]))
    assert "do not rise" in message(lambda: grid([[5.0], [6.0]], (1, 1)))
    assert "begin with one" in message(lambda: grid([[5.0], [6.0]], (2, 8)))
    assert "prefill_ms_per_token is nan" in message(lambda: StepTable.constant(5, float("nan"), 1))
    assert "two lengths" in message(lambda: StepTable.from_grid([1], [1], [[5]], [100], [5]))
    assert "do not rise with tokens" in message(lambda: StepTable.from_grid([1], [1], [[5]], [1, 2], [9, 5]))


def test_distance_and_round_trip_of_two_places() -> None:
    km = great_circle_km(PLACES["london"], PLACES["tokyo"])
    assert km == pytest.approx(9560, rel=0.01)
    straight = round_trip_ms(PLACES["london"], PLACES["tokyo"], path=1.0, overhead_ms=0.0)
    assert straight == pytest.approx(2 * km / 204_218 * 1000, rel=1e-3)


def test_cloud_regions_know_their_neighbours_replicas_and_prices() -> None:
    regions = cloud_regions(["virginia", "tokyo", "oregon"], [2, 1, 3])
    assert list(regions.home) == [0, 0, 1, 2, 2, 2]
    assert list(regions.nearest[0]) == [0, 2, 1]
    assert regions.rtt_ms[0, 0] == 1.0
    assert regions.usd_per_gb[1][0] == 0.09
    assert regions.usd_per_gb[1][1] == 0
    assert regions.bytes_there(1000) == 1000 + 4000


def test_wrong_regions_are_refused() -> None:
    assert "known: virginia" in message(lambda: cloud_regions(["atlantis"], [1]))
    assert "at least one" in message(lambda: Regions(("a",), (0,), np.zeros((1, 1))))
    assert "1 names for 2" in message(lambda: Regions(("a",), (1, 2), np.zeros((1, 1))))
    lame = np.array([[0.0, 5.0], [6.0, 0.0]])
    assert "both ways" in message(lambda: Regions(("a", "b"), (1, 1), lame))
    assert "2 x 2" in message(lambda: Regions(("a", "b"), (1, 1), np.full((2, 2), np.nan)))
