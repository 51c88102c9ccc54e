"""Noise bands and exchange rates on values that can be checked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis.views import query_arrow
from pipeline.lanes.crossing import Median, pool_that_reaches
from pipeline.paths import Workspace
from pipeline.schemas.observation import Observation
from tests.analysis.made import checkout, promoted, repeated
from tests.fixtures.rows import observation
from tests.fixtures.synthetic_run import write_synthetic_run


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return checkout(tmp_path)


def rows_of(ws: Workspace, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = query_arrow(ws, sql).to_pylist()
    return found


def test_the_band_is_the_widest_of_the_pairs(ws: Workspace) -> None:
    first = repeated([10.0, 30.0], 11.0, experiment="batch", cell_id="1" * 16)
    second = repeated([20.0], 20.4, experiment="batch", cell_id="2" * 16)
    promoted(ws, first + second)
    (band,) = rows_of(ws, "SELECT * FROM noise WHERE metric = 'tpot_p50_ms'")
    assert (band["lane"], band["experiment"], band["host_id"], band["n_pairs"]) == (
        "cpu",
        "batch",
        "b" * 16,
        2,
    )
    assert band["band_abs"] == pytest.approx(1.0)
    assert band["band_rel"] == pytest.approx(1.0 / 10.5)


def test_pairs_of_zeros_have_no_width_and_missing_values_make_no_pair(ws: Workspace) -> None:
    promoted(ws, [observation(preemptions=0), observation(preemptions=0, repeat=101, twin_of_repeat=1)])
    assert rows_of(ws, "SELECT band_rel, band_abs FROM noise WHERE metric = 'preemptions'") == [
        {"band_rel": 0.0, "band_abs": 0.0}
    ]
    assert rows_of(ws, "SELECT * FROM noise WHERE metric = 'ttft_p50_ms'") == []


CURVE = [Median(1024, 0.2, 3), Median(4096, 0.6, 3), Median(16384, 0.9, 3)]


@pytest.mark.parametrize(
    ("start", "target", "tolerance", "pool"),
    [
        (1024, 0.4, 0.0, 2048.0),  # half way from 0.2 to 0.6 is half way in log2 from 1,024 to 4,096
        (1024, 0.75, 0.0, 8192.0),
        (1024, 0.2, 0.0, 1024.0),
        (4096, 0.3, 0.0, 4096.0),  # better than the target already at the same pool: nothing is replaced
        (1024, 0.95, 0.0, None),
        (1024, 0.95, 0.06, 16384.0),  # within the band of the largest pool
    ],
)
def test_the_pool_at_which_the_baseline_reaches_a_hit_rate(
    start: int, target: float, tolerance: float, pool: float | None
) -> None:
    found = pool_that_reaches(CURVE, start, target, tolerance, better=1.0)
    assert found == (None if pool is None else pytest.approx(pool))


def test_for_latency_less_is_better() -> None:
    curve = [Median(1024, 900.0, 3), Median(4096, 300.0, 3)]
    assert pool_that_reaches(curve, 1024, 600.0, 0.0, better=-1.0) == pytest.approx(2048)
    assert pool_that_reaches(curve, 1024, 200.0, 0.0, better=-1.0) is None


def test_the_synthetic_run_replaces_memory_on_shared_traffic_only(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=True)
    where = "policy = 'cache_aware' AND metric = 'prefix_hit_rate'"
    found = rows_of(ws, f"SELECT * FROM exchange WHERE {where} ORDER BY traffic, pool_tokens")
    shared = {row["pool_tokens"]: row for row in found if row["traffic"] == "shared-even"}
    assert shared[5120]["phase"] == "steady"
    assert 2.3 < shared[5120]["factor"] < 2.7
    assert shared[5120]["replaced_tokens"] == pytest.approx(5120 * (shared[5120]["factor"] - 1))
    assert shared[8192]["reached"] is False
    assert shared[8192]["baseline_pool_tokens"] is None
    assert shared[8192]["baseline_value_same_pool"] < shared[8192]["value"]
    unshared = [row for row in found if row["traffic"] == "unshared"]
    assert [row["replaced_tokens"] for row in unshared] == [0.0, 0.0]
    assert {row["phase"] for row in unshared} == {"whole"}


def cheap_miss(row: Observation) -> dict[str, Any]:
    return {"ttft_p50_ms": 50.0} if row.traffic == "miss-1024-unshared" else {}


def test_time_to_first_token_is_silent_where_a_miss_costs_too_little(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=True, change=cheap_miss)
    assert rows_of(ws, "SELECT DISTINCT metric FROM exchange") == [{"metric": "prefix_hit_rate"}]


def without_twins(row: Observation) -> dict[str, Any]:
    return {"twin_of_repeat": None}


def test_no_rate_without_a_noise_band(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=True, change=without_twins)
    assert rows_of(ws, "SELECT * FROM exchange") == []
