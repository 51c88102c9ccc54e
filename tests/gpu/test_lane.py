"""The gpu lane through its real code: launcher, servers, watch and rows, around a card that stands in."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipeline.engines.containers import Containers
from pipeline.lanes import serving
from pipeline.lanes.gpu import placement
from pipeline.load.aiperf import LoadPlan, LoadResult
from pipeline.schemas.cell import Cell, EngineKnobs, Workload
from pipeline.store.runfiles import read_launches
from pipeline.telemetry.nvml import Card
from tests.gpu.conftest import DIGESTS, IMAGES, Machine
from tests.run.fakes import send
from tests.telemetry.conftest import GIB


def cell(engine: str, traffic: str = "unshared-16", **known: Any) -> Cell:
    given = {"model": "wb-1b", "weights": "gaussian", "block_size_tokens": 0, "answers_render": False}
    knobs = EngineKnobs.model_validate({"name": engine} | given | known)
    work = Workload(traffic=traffic, requests=24, concurrency=4, prompt_tokens=64, output_tokens=4)
    return Cell(experiment="gpu_equal", lane="gpu", engine=knobs, workload=work)


def test_both_engines_give_rows_of_the_same_shape(machine: Machine) -> None:
    rows, journal = machine.measure(cell("vllm"), cell("tensorrt-llm"))
    vllm, trtllm = rows
    assert [row.status for row in rows] == ["ok", "ok"], [row.failure for row in rows]
    assert (vllm.engine_version, trtllm.engine_version) == ("0.33.0", "1.2.1"), "read back from the servers"
    assert (vllm.kv_pool_tokens, trtllm.kv_pool_tokens) == (4096 * 16, 4096 * 32), "tokens from both"
    assert vllm.kv_pool_gib == 2.0, "4096 blocks x 16 tokens x 32 KiB"
    assert (vllm.preemptions, trtllm.preemptions) == (0, None), "TensorRT-LLM counts none: missing, not zero"
    assert trtllm.paused_requests == 0
    assert trtllm.output_tokens == vllm.output_tokens == 24 * 4
    assert (vllm.kv_usage_peak, trtllm.kv_usage_peak) == (0.5, 0.5)
    for row in rows:
        assert (row.vram_before_gib, row.card_before_gib, row.card_total_gib) == (18.0, 20.0, 80.0)
        assert (row.power_peak_w, row.sm_clock_min_mhz, row.gpu_temperature_peak_c) == (300.0, 1755.0, 61.0)
        assert (row.throttled_share, row.card_shared) == (0.0, False)
        assert row.workload_hash == vllm.workload_hash, "the same requests for both"
        assert row.tok_s_per_gpu == row.tok_s
    launches = {launch.launch_id: launch for launch in read_launches(machine.ws.journals / journal.run_id)}
    assert {row.launch_id for row in rows} == launches.keys()
    assert launches[str(trtllm.launch_id)].config.startswith("enable_iter_perf_stats: true")


def test_a_launch_is_stored_by_digest_and_without_places_of_the_machine(
    machine: Machine, tmp_path: Path
) -> None:
    rows, journal = machine.measure(cell("vllm"))
    (launch,) = read_launches(machine.ws.journals / journal.run_id)
    assert launch.image == IMAGES["vllm"]
    assert launch.image_digest == DIGESTS[IMAGES["vllm"]]
    assert str(launch.image_digest) in launch.command
    assert str(tmp_path) not in launch.command
    assert "$CACHE/models/wb-1b-" in launch.command
    (line,) = machine.lines("run")
    assert '--gpus "device=0"' in line
    assert "--entrypoint python3" in line
    assert "--publish 127.0.0.1:" in line
    assert rows[0].launch_id == launch.launch_id


def test_a_server_that_cannot_forget_is_started_again_for_a_twin(machine: Machine) -> None:
    rows, _ = machine.measure(cell("tensorrt-llm"), twins=True)
    assert [row.status for row in rows] == ["ok", "ok"]
    assert len(machine.lines("run")) == 2


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("out-of-memory", "ended before it was ready: torch.OutOfMemoryError: CUDA out of memory"),
        ("dies-under-load", "died while it was measured: torch.OutOfMemoryError: CUDA out of memory"),
        ("other-version", "vllm 0.33.0 was asked for and the server says 9.9.9"),
    ],
)
def test_an_engine_that_fails_is_a_reason_without_a_folder_of_this_machine(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, mode: str, reason: str, tmp_path: Path
) -> None:
    def once(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        try:
            return send(plan, notes, limit_s, watch)
        except httpx.HTTPError:
            for _ in range(100):  # as the real client does until it is stopped
                watch()
                time.sleep(0.05)
            raise

    monkeypatch.setattr(serving, "run_aiperf", once)
    monkeypatch.setenv("FAKE_MODE", mode)
    rows, _ = machine.measure(cell("vllm"))
    assert [row.status for row in rows] == ["failed"]
    assert reason in str(rows[0].failure)
    assert str(tmp_path) not in str(rows[0].failure)
    assert rows[0].vram_peak_gib is None


def test_metrics_that_have_gone_cost_the_counts_and_not_the_cell(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", "no-metrics")
    vllm, trtllm = machine.measure(cell("vllm"), cell("tensorrt-llm"))[0]
    for row in (vllm, trtllm):
        assert row.status == "ok"
        assert (row.kv_pool_tokens, row.preemptions, row.kv_usage_peak) == (None, None, None)
        assert row.ttft_p50_ms == 21.5
        assert row.vram_peak_gib == 18.0


def test_a_driver_reset_under_load_fails_the_cell(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        machine.driver.set(error_read=15)
        return send(plan, notes, limit_s, watch)

    monkeypatch.setattr(serving, "run_aiperf", losing)
    rows, _ = machine.measure(cell("vllm"))
    assert rows[0].status == "failed"
    assert "GPU is lost" in str(rows[0].failure)


def test_a_hot_and_shared_card_is_flagged(machine: Machine) -> None:
    machine.driver.set(reasons=0x40, other_pid=1, memory_used=60 * GIB)
    row = machine.measure(cell("vllm"))[0][0]
    assert (row.throttled_share, row.card_shared) == (1.0, True)
    assert (row.vram_peak_gib, row.card_peak_gib) == (18.0, 60.0)


def test_dummy_weights_give_no_tokens_a_watt(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def warming(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        done = send(plan, notes, limit_s, watch)
        machine.driver.set(energy_mj=2_000_000)
        return done

    monkeypatch.setattr(serving, "run_aiperf", warming)
    made, dummy = machine.measure(cell("vllm"), cell("vllm", weights="dummy", max_num_seqs=8))[0]
    assert made.tok_s_per_w == pytest.approx((made.tok_s or 0) / (made.power_mean_w or 1))
    assert dummy.tok_s_per_w is None


def test_an_image_that_was_not_recorded_is_named(machine: Machine) -> None:
    rows, _ = machine.measure(cell("vllm", version="0.1.0"))
    assert "image vllm/vllm-openai:v0.1.0 (weighbridge gpu setup)" in str(rows[0].failure)


def test_a_container_program_that_answers_nothing_is_a_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    containers = Containers()
    assert containers.reason_against() is None
    assert containers.digest("x") is None
    monkeypatch.setenv("FAKE_DIGEST", "repo@sha256:1")
    assert containers.digest("x") == "repo@sha256:1"
    monkeypatch.setenv("PATH", "/nowhere")
    assert containers.reason_against() == "docker is not installed"


def test_replicas_get_cards_of_their_own_where_there_are_enough() -> None:
    def cards(count: int) -> list[Card]:
        return [Card(i, "H100", 80.0, "SXM", "580", 700.0, True, False, 1980.0) for i in range(count)]

    two = EngineKnobs(name="vllm", model="wb-8b", replicas=2)
    wide = EngineKnobs(name="vllm", model="wb-70b", replicas=2, tensor_parallel=2)
    assert placement(two, cards(1)) == [(0,), (0,)]
    assert placement(two, cards(2)) == [(0,), (1,)]
    assert placement(wide, cards(4)) == [(0, 1), (2, 3)]
    assert placement(wide, cards(2)) == [(0, 1), (0, 1)]


def test_nothing_is_left_behind(machine: Machine) -> None:
    machine.measure(cell("vllm"))
    assert not list((machine.ws.local / "running").iterdir())
    assert [line.split()[1] for line in machine.lines("rm")] == ["--force"]
