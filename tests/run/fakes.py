"""A whole run on stand-ins: real planner, runner, journal and rows around a fake engine and a fake client."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.engines import vllm
from pipeline.lanes import cpu, serving
from pipeline.lanes.rows import RunContext
from pipeline.load.aiperf import LoadPlan, LoadResult, SentRequest
from pipeline.schemas.cell import Cell, EngineKnobs, Workload
from pipeline.schemas.profile import Plan, PlannedCell, Profile, Selection
from pipeline.telemetry.prometheus import client

ENGINE = Path(__file__).with_name("fake_engine.py")
CONTEXT = RunContext(
    "test-20260101T000000Z", "host", {"vllm": "0.32.0", "vllm-router": "0.1.17", "aiperf": "0.13.0"}
)


def install(mode: str = "ok", client: Callable[..., LoadResult] | None = None) -> None:
    """Replace engine command, environment lookup and client; in tests and in child processes alike."""
    modes = iter(mode.split(","))
    last = [mode.rsplit(",", maxsplit=1)[-1]]

    def command(_knobs: EngineKnobs, _folder: Path, _python: Path, port: int) -> list[str]:
        return [sys.executable, str(ENGINE), str(port), next(modes, last[0])]

    stand_in = type("Found", (), {"python": Path(sys.executable)})()
    put(
        {
            (vllm, "command"): command,
            (vllm, "environment"): lambda _name: stand_in,
            (serving, "run_aiperf"): client or send,
            (cpu, "START_LIMIT_S"): 6.0,
            (cpu, "SETTLE_S"): 0.0,
        }
    )


def put(values: dict[tuple[ModuleType, str], Any]) -> dict[tuple[ModuleType, str], Any]:
    """Set names of modules; returns what they were, to be put back."""
    before = {(module, name): getattr(module, name) for module, name in values}
    for (module, name), value in values.items():
        setattr(module, name, value)
    return before


def current() -> dict[tuple[ModuleType, str], Any]:
    """What `install` replaces, as it is now."""
    names = (
        (vllm, "command"),
        (vllm, "environment"),
        (serving, "run_aiperf"),
        (cpu, "START_LIMIT_S"),
        (cpu, "SETTLE_S"),
    )
    return {(module, name): getattr(module, name) for module, name in names}


def send(plan: LoadPlan, _notes: Path, _limit_s: float, watch: Callable[[], None]) -> LoadResult:
    """A client that sends one request after the other."""
    done = []
    for number, line in enumerate(plan.dataset.read_text().splitlines()):
        watch()
        record, start = json.loads(line), time.time_ns()
        body = {"prompt": record["text"], "max_tokens": plan.workload.output_tokens}
        client().post(
            f"{plan.url}/v1/completions", json=body, headers={"X-Request-ID": f"id-{number}"}, timeout=10
        )
        time.sleep(float(os.environ.get("FAKE_REQUEST_S", "0")))
        done.append(
            SentRequest(
                f"id-{number}",
                record["session_id"],
                0,
                start,
                time.time_ns(),
                None,
                10.0 + number,
                2.0,
                30.0,
                len(record["text"]),
                plan.workload.output_tokens,
                0,
            )
        )
    return LoadResult(tuple(done))


def small_plan(cells: int = 3) -> Plan:
    """Cells that share one server and differ in concurrency."""
    profile = Profile(
        name="test",
        title="t",
        lane="cpu",
        repeats=1,
        seed=1,
        server_start_s=1,
        promotable=False,
        experiments=(Selection(name="batch"),),
    )
    planned = tuple(
        PlannedCell(
            cell=Cell(
                experiment="batch",
                lane="cpu",
                engine=EngineKnobs(name="vllm", model="wb-small"),
                workload=Workload(
                    traffic="unshared", requests=24, concurrency=n + 1, prompt_tokens=8, output_tokens=4
                ),
            ),
            repeat=1,
            twin_of_repeat=None,
            expected_s=1,
        )
        for n in range(cells)
    )
    return Plan(profile=profile, cells=planned)
