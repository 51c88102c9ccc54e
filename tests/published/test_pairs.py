"""Pairs as a reader sees them: ratios, days apart, versions with their basis, flags and filters."""

from datetime import date
from pathlib import Path

import pytest

from pipeline.lanes.published.confounders import sift
from pipeline.lanes.published.measured import tok_s_per_gpu
from pipeline.lanes.published.pairs import pairs
from pipeline.lanes.published.sample import read_sample
from pipeline.lanes.published.sweeps import batch_effects, capacities, sweeps
from pipeline.schemas.published import Pair
from tests.published.made import LLAMA, record, write

SLOW = {"silicon_ttft_ms": 400.0, "silicon_tpot_ms": 12.5}


def made(tmp_path: Path, *records: dict[str, str]) -> list[Pair]:
    return pairs(sift(read_sample(write(tmp_path / "s.csv", list(records)))).kept)


def test_throughput_by_littles_law() -> None:
    # 16 clients, each 1,000 tokens in 0.21 s + 999 x 10 ms = 10.2 s, on 2 GPUs.
    assert tok_s_per_gpu(16, 1000, 210.0, 10.0, 2) == pytest.approx(784.31, abs=0.01)


def test_ratios_are_tensorrt_llm_over_vllm(tmp_path: Path) -> None:
    [pair] = made(tmp_path, record(1, "vllm", **SLOW), record(2, "trtllm"))
    assert (pair.ttft_ratio, pair.tpot_ratio) == (0.5, 0.8)
    assert (pair.ttft_diff_ms, pair.tpot_diff_ms) == (-200.0, -2.5)
    assert pair.tok_s_per_gpu_ratio == pytest.approx((400 + 1023 * 12.5) / (200 + 1023 * 10))
    assert (pair.vllm_version, pair.trtllm_version, pair.version_basis) == ("0.15.1", "1.2.0rc2", "stated")
    assert (pair.gpu, pair.sweep, pair.flags, pair.left_out) == ("B200", "gpt-oss-120b fp4 B200", "", False)


def test_the_latest_row_of_each_engine_speaks(tmp_path: Path) -> None:
    [pair] = made(
        tmp_path,
        record(1, "trtllm"),
        record(2, "vllm", day="2026-02-20", silicon_tpot_ms=20.0),
        record(3, "vllm", day="2026-02-01", silicon_tpot_ms=40.0),
    )
    assert pair.tpot_ratio == 0.5
    assert (pair.measured_days_apart, pair.measured_on) == (19, date(2026, 2, 1))


def test_a_missing_version_stays_missing(tmp_path: Path) -> None:
    [pair] = made(tmp_path, record(1, "vllm", backend_version=None), record(2, "trtllm"))
    assert (pair.vllm_version, pair.vllm_version_basis, pair.version_basis) == (None, "unknown", "unknown")
    assert "version_unknown" in pair.notes
    assert not pair.left_out


def test_an_inferred_version_and_another_checkpoint_say_so(tmp_path: Path) -> None:
    llama = {
        "model_path": LLAMA,
        "precision": "fp8",
        "day": "2025-10-29",
        "backend_version": None,
        "isl": 8192,
    }
    [pair] = made(tmp_path, record(1, "vllm", **llama), record(2, "trtllm", **llama))
    assert (pair.vllm_version, pair.trtllm_version) == ("0.10.2", "1.1.0rc2.post2")
    assert pair.version_basis == "inferred"
    assert pair.checkpoint == "nvidia/Llama-3.3-70B-Instruct-FP8 (inferred)"
    assert pair.notes == "checkpoint_label, version_inferred"


def test_flagged_pairs_stay_and_are_left_out(tmp_path: Path) -> None:
    llama = {"model_path": LLAMA, "concurrency": 4}
    dp = {"attention_dp_size": 2.0, "concurrency": 8}
    found = made(
        tmp_path,
        record(1, "vllm"),
        record(2, "trtllm", day="2026-02-23"),
        record(3, "vllm", concurrency=512, silicon_ttft_ms=6_000.0),
        record(4, "trtllm", concurrency=512),
        record(5, "vllm", **llama),
        record(6, "trtllm", **llama),
        record(7, "vllm", **dp),
        record(8, "trtllm", **dp),
    )
    assert {(pair.concurrency, pair.flags) for pair in found} == {
        (16, "far_apart"),
        (512, "saturated"),
        (4, "scheduler_knob"),
        (8, "mixed_parallelism"),
    }
    assert all(pair.left_out for pair in found)


def test_settings_that_differ_or_are_not_recorded_make_no_pair(tmp_path: Path) -> None:
    assert not made(
        tmp_path,
        record(1, "vllm", concurrency=8),
        record(2, "trtllm", concurrency=16),
        record(3, "vllm", concurrency=None),
        record(4, "trtllm", concurrency=None),
        record(5, "vllm", precision=None, concurrency=32),
        record(6, "trtllm", precision="fp8", concurrency=32),
    )


def test_filters_count_what_they_leave_out(tmp_path: Path) -> None:
    deepseek = {"model_path": "deepseek-ai/DeepSeek-R1", "backend_version": "1.2.0rc6.post3"}
    rows = [
        record(1, "sglang"),
        record(2, "vllm", tp_size=64.0),
        record(3, "trtllm", **deepseek),
        record(4, "trtllm", concurrency=32, mode="disagg", batch_size=None),
        record(5, "trtllm"),
    ]
    sifted = sift(read_sample(write(tmp_path / "s.csv", rows)))
    assert [one.row.id for one in sifted.kept] == ["row-5"]
    assert {(left.reason, left.engine, left.n_rows) for left in sifted.left_out} == {
        ("another engine", "sglang", 1),
        ("disaggregated", "trtllm", 1),
        ("speculative decoding", "trtllm", 1),
        ("wider than a node", "vllm", 1),
    }


def test_sweeps_give_medians_and_the_effect_of_load(tmp_path: Path) -> None:
    rows = [
        record(1, "vllm", concurrency=4),
        record(2, "vllm", concurrency=8, silicon_tpot_ms=12.0),
        record(3, "vllm", concurrency=64, silicon_tpot_ms=30.0, silicon_ttft_ms=800.0),
    ]
    kept = sift(read_sample(write(tmp_path / "s.csv", rows))).kept
    assert [(row.concurrency_band, row.n_rows, row.tpot_median_ms) for row in sweeps(kept)] == [
        ("1-8", 2, 11.0),
        ("9-64", 1, 30.0),
    ]
    assert [(row.concurrency, row.tpot_ratio) for row in batch_effects(kept)] == [(8, 1.2), (64, 3.0)]
    strict, loose = capacities(kept)
    assert (strict.concurrency, loose.concurrency) == (8, 64)
    assert loose.req_s_per_gpu == pytest.approx(64 / (0.8 + 1023 * 0.03) / 2)
