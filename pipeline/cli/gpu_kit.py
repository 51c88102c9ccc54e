"""What is carried to a borrowed card, and what is brought home from it."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.cli.bench import Bench
from pipeline.cli.run import manifest_of
from pipeline.engines import vllm
from pipeline.engines.models import model_folder
from pipeline.errors import InputError
from pipeline.lanes.cpu import CpuLane
from pipeline.lanes.rows import RunContext, ok_rows
from pipeline.lanes.served import Memory, Served
from pipeline.load import LoadResult, SentRequest, make_prompts, prompts_jsonl
from pipeline.load.aiperf import LEAST_ANSWERED
from pipeline.paths import Workspace
from pipeline.plan import load_profile
from pipeline.run.host import describe_host
from pipeline.schemas.cell import Cell, EngineKnobs, Workload
from pipeline.schemas.profile import Plan, PlannedCell
from pipeline.store.journal import Journal
from pipeline.telemetry.gpu import GpuSeen
from pipeline.telemetry.nvml import Card
from pipeline.telemetry.prometheus import parse

PORT = 18555
_BASE = {"name": "vllm", "model": "wb-8b", "weights": "dummy", "max_model_len_tokens": 8192}
_BASE |= {"block_size_tokens": 0, "answers_render": False}


def _work(traffic: str, requests: int, concurrency: int, prompt: int, output: int) -> Workload:
    return Workload(
        traffic=traffic,
        requests=requests,
        concurrency=concurrency,
        prompt_tokens=prompt,
        output_tokens=output,
    )


_STEADY = ("gpu_defaults", _work("unshared-steady", 160, 32, 1000, 100))
_BURST = ("gpu_defaults", _work("unshared-burst", 128, 128, 1000, 100))
_LONG = ("gpu_kv8", _work("unshared-32-long", 64, 32, 4000, 100))
_PRESSED = ("gpu_pressure", _work("unshared", 96, 64, 200, 400))
SERVERS: tuple[tuple[dict[str, Any], tuple[tuple[str, Workload], ...]], ...] = (
    ({"gpu_memory_share": 0.9}, (_STEADY, _BURST)),
    ({"kv_dtype": "fp8", "kv_pool_bytes": 16 * 2**30, "prefix_caching": False}, (_LONG,)),
    ({"kv_pool_bytes": 2 * 2**30, "prefix_caching": False, "iteration_log": True}, (_PRESSED,)),
)
"""In order of worth: memory at rest and through a burst, 8-bit KV, a small pool."""


class GpuKit(BaseModel):
    """Write what a borrowed card needs for a few vLLM cells: model folder, command lines, requests."""

    folder: CliPositionalArg[Path] = Field(
        description="folder to write; scripts/gpu_check.sh OUT FOLDER uses it"
    )

    def cli_cmd(self) -> None:
        """Write it, and say how large it is."""
        write_kit(self.folder)
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        print(f"{self.folder}: {len(SERVERS)} servers, {size / 2**20:.1f} MiB")


class GpuTake(BaseModel):
    """Store what scripts/gpu_check.sh measured on a borrowed card as a local run."""

    folder: CliPositionalArg[Path] = Field(description="the folder that it wrote")

    def cli_cmd(self) -> None:
        """Check every cell against the schema and store the run."""
        print(f"stored in {take(Workspace(), self.folder)}")


def write_kit(folder: Path) -> None:
    """The kit as a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model = model_folder(str(_BASE["model"]))
    shutil.copytree(model, folder / "model", dirs_exist_ok=True)
    servers = []
    for changes, loads in SERVERS:
        knobs = EngineKnobs.model_validate(_BASE | changes)
        line = ["-m", vllm.MODULE, *vllm.gpu_arguments(knobs, "$KIT/model", "127.0.0.1", PORT)]
        servers.append(
            {"line": line, "knobs": knobs.model_dump(mode="json"), "loads": [_load(*each) for each in loads]}
        )
    (folder / "kit.json").write_text(json.dumps({"servers": servers}))


def take(ws: Workspace, folder: Path) -> Path:
    """A local run from what was measured elsewhere; in quarantine where its checks fail.

    Raises:
        InputError: the folder holds no cell, or no card.
    """
    cells, cards = _read(folder)
    host = describe_host(cards[:1])
    versions = {"vllm": str(cells[0]["version"])}
    started = datetime.fromisoformat(cells[0]["started_at"])
    run_id = f"gpu-check-{started:%Y%m%dT%H%M%SZ}"
    journal = Journal.create(ws, run_id, {"profile": "gpu-check", "started_at": started.isoformat()})
    context = RunContext(run_id, host.host_id, versions)
    for cell in cells:
        planned, served = _planned(cell), _served(cell)
        journal.append(ok_rows(context, planned, datetime.fromisoformat(cell["started_at"]), served), [])
    profile = load_profile("gpu-nightly").model_copy(update={"name": "gpu-check", "repeats": 1})
    plan = Plan(profile=profile, cells=tuple(_planned(cell) for cell in cells))
    return journal.consolidate(manifest_of(ws, plan, journal, Bench(CpuLane(), host, versions, {})))


def _load(experiment: str, workload: Workload) -> dict[str, Any]:
    texts = [prompt.text for prompt in make_prompts(workload)]
    content = {"experiment": experiment, "workload": workload.model_dump(mode="json"), "repeat": 1}
    return content | {"prompts": texts}


def _read(folder: Path) -> tuple[list[dict[str, Any]], list[Card]]:
    try:
        cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
        cards = [Card(**card) for card in json.loads((folder / "card.json").read_text())]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"nothing to take: {error}", where=str(folder)) from None
    cells = [cell for cell in cells if _answered(cell) >= LEAST_ANSWERED]
    if not cells or not cards:
        raise InputError(
            "no good cell was measured there", where=str(folder), next_step="see checks.jsonl in it"
        )
    return cells, cards


def _answered(cell: dict[str, Any]) -> float:
    """Share of requests that were answered; a cell with more failures than a run allows is no result."""
    requests = cell["requests"]
    return sum(each["error"] is None for each in requests) / len(requests)


def _planned(cell: dict[str, Any]) -> PlannedCell:
    made = Cell(
        experiment=cell["experiment"],
        lane="gpu",
        engine=EngineKnobs.model_validate(cell["engine"]),
        workload=Workload.model_validate(cell["workload"]),
    )
    return PlannedCell(cell=made, repeat=cell["repeat"], twin_of_repeat=None, expected_s=60.0)


def _served(cell: dict[str, Any]) -> Served:
    work = Workload.model_validate(cell["workload"])
    prompts = make_prompts(work)
    sent = [_sent(prompts[n].session_id, n, each) for n, each in enumerate(cell["requests"])]
    return Served(
        prompts,
        prompts_jsonl(prompts, work.turns),
        LoadResult(tuple(sorted(sent, key=lambda request: request.start_ns))),
        [parse(cell["metrics_before"])],
        [parse(cell["metrics_after"])],
        [""],
        None,
        Memory(None, None, None, None, GpuSeen(**cell["gpu"])),
        [],
        cell["version"],
    )


def _sent(session: str, number: int, request: dict[str, Any]) -> SentRequest:
    start, end, usage = request["start_ns"], request["end_ns"], request.get("usage") or {}
    first, tokens = request.get("first_ns") or None, usage.get("completion_tokens")
    details = usage.get("prompt_tokens_details") or {}
    return SentRequest(
        request_id=f"check-{number}",
        session_id=session,
        turn=0,
        start_ns=start,
        end_ns=end,
        error=request["error"],
        ttft_ms=(first - start) / 1e6 if first else None,
        tpot_ms=(end - first) / 1e6 / (tokens - 1) if first and tokens and tokens > 1 else None,
        e2e_ms=(end - start) / 1e6 if request["error"] is None else None,
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=tokens,
        cached_tokens=details.get("cached_tokens"),
    )
