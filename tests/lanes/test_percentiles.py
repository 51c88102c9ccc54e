"""Percentiles only where the count allows."""

from pipeline.lanes.percentiles import mean_or_none, percentile_or_none


def test_counts_at_which_each_percentile_appears() -> None:
    for percent, least in ((50, 20), (90, 100), (99, 1000)):
        assert percentile_or_none(range(least - 1), percent) is None
        assert percentile_or_none(range(least), percent) is not None


def test_value_by_hand() -> None:
    assert percentile_or_none([float(n) for n in range(1, 102)], 90) == 91.0


def test_missing_values_are_not_zero() -> None:
    assert percentile_or_none([None] * 50 + [4.0] * 20, 50) == 4.0
    assert percentile_or_none([None] * 50 + [4.0] * 19, 50) is None
    assert mean_or_none([None, 2.0, 4.0]) == 3.0
    assert mean_or_none([None]) is None
