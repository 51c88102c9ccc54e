"""Each way in which a run can contradict itself sends it to quarantine."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.store.checks import check_run
from tests.fixtures.rows import failed, manifest, observation

TIMED = {"ttft_p50_ms": 10.0, "ttft_p90_ms": 20.0, "requests": 100, "requests_ok": 100}


def test_a_sound_run_passes() -> None:
    assert check_run([observation(**TIMED), failed("it died", cell_id="d" * 16)], manifest()) == []


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"kv_usage_peak": 1.01}, "kv_usage_peak is 1.01, above 1"),
        ({"ttft_mean_ms": -0.5}, "ttft_mean_ms is -0.5, below 0"),
        ({"imbalance": 0.9}, "imbalance is 0.9, below 1"),
        (TIMED | {"ttft_p90_ms": 9.0}, "ttft percentiles fall"),
        ({"ttft_p50_ms": 10.0, "requests": 19, "requests_ok": 19}, "ttft_p50_ms from 19 requests, needs 20"),
        ({"ttft_p90_ms": 10.0}, "ttft_p90_ms from 48 requests, needs 100"),
        ({"requests_ok": 40}, "48 requests sent, 40 ended"),
        ({"cached_tokens": 60, "prompt_tokens": 50}, "60 cached of 50 prompt tokens"),
        ({"cached_tokens": 60, "prefix_caching": False}, "60 cached tokens with prefix caching off"),
        ({"recomputed_tokens": 900, "preemptions": 0}, "900 tokens recomputed without a preemption"),
        ({"output_tokens": 200}, "the engine counts 200 output tokens, the client 384"),
        ({"failure": "died"}, "status ok with failure 'died'"),
        ({"requests": 0, "requests_ok": 0}, "status ok without a request answered"),
        ({"run_id": "cpu-1"}, "rows of other runs: cpu-1"),
        ({"host_id": "x"}, "rows of other hosts: x"),
    ],
)
def test_a_contradiction_is_named(known: dict[str, Any], reason: str) -> None:
    assert any(reason in each for each in check_run([observation(**known)], manifest()))


def test_no_success_and_duplicates_are_named() -> None:
    assert "no cell succeeded" in check_run([failed("it died")], manifest())
    twice = check_run([observation(), observation()], manifest())
    assert twice == [f"cell {'c' * 16} repeat 1 whole is stored 2 times"]
