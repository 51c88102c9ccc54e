"""Error measures, by hand."""

import pytest

from pipeline.lanes.modelled.statistics import errors, rank_correlation


def test_errors_of_a_few_rows() -> None:
    found = errors([11.0, 8.0, 30.0], [10.0, 10.0, 20.0])
    assert found.n == 3
    assert found.median_ape == pytest.approx(0.2)
    assert found.bias == pytest.approx(0.1)
    assert found.mean_ape == pytest.approx((0.1 + 0.2 + 0.5) / 3)
    assert found.p90_ape is None


def test_a_90th_percentile_needs_a_hundred_rows() -> None:
    assert errors([1.0] * 99, [1.0] * 99).p90_ape is None
    assert errors([1.0 + 0.01 * i for i in range(100)], [1.0] * 100).p90_ape == pytest.approx(0.891)


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert rank_correlation([1, 1, 2], [3, 3, 9]) == pytest.approx(1.0)
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
