"""A machine with a card that is not there: a library, a container program and a client that stand in."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.engines import launchers, models
from pipeline.engines.launchers import Garage
from pipeline.lanes import gpu, serving
from pipeline.lanes.rows import RunContext
from pipeline.lanes.serving import Places
from pipeline.paths import Workspace
from pipeline.plan import load_profile
from pipeline.run import run_plan
from pipeline.schemas.cell import Cell
from pipeline.schemas.gpu import GpuSettings
from pipeline.schemas.observation import Observation
from pipeline.schemas.profile import Plan, PlannedCell
from pipeline.store.journal import Journal
from pipeline.telemetry import nvml
from tests.run.fakes import send
from tests.telemetry.conftest import Driver, driver, nvml_library

__all__ = ["driver", "nvml_library"]
SERVER = Path(__file__).parents[1] / "fixtures" / "openai_server.py"
PROFILE = load_profile("gpu-nightly")
IMAGES = {name: source.image_of(source.version) for name, source in PROFILE.engines.items()}
DIGESTS = {image: f"{image.rsplit(':', 1)[0]}@sha256:{'0' * 64}" for image in IMAGES.values()}
CONTEXT = RunContext(
    "gpu-nightly-20261201T000000Z", "host", {"vllm": "0.33.0", "tensorrt-llm": "1.2.1", "aiperf": "0.13.0"}
)
# What a container program does for a run: notes its arguments and starts the stand-in on the published port.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >> "$FAKE_DOCKER_LOG"
case "$1" in
  run) port=$(printf '%s\\n' "$@" | sed -n 's/^127.0.0.1:\\([0-9]*\\):8000$/\\1/p')
       kind=vllm; case "$*" in *trtllm-serve*) kind=tensorrt-llm;; esac
       exec {python} {server} $kind "$port" "${{FAKE_MODE:-ok}}";;
  inspect) echo "${{FAKE_PID:-0}}";;
  image) echo "${{FAKE_DIGEST:-}}"; [ -n "${{FAKE_DIGEST:-}}" ];;
  version) echo 28.0;;
esac
"""


@dataclass
class Machine:
    """A workspace, a card and a container program."""

    ws: Workspace
    driver: Driver
    asked: Path
    said: list[str] = field(default_factory=list)

    def measure(self, *cells: Cell, twins: bool = False) -> tuple[list[Observation], Journal]:
        """Rows of these cells, measured through the real lane."""
        planned = [PlannedCell(cell=c, repeat=1, twin_of_repeat=None, expected_s=1) for c in cells]
        if twins:
            planned += [p.model_copy(update={"repeat": 101, "twin_of_repeat": 1}) for p in planned]
        journal = Journal.create(self.ws, CONTEXT.run_id, {"profile": "gpu-nightly"})
        garage = Garage(GpuSettings(), PROFILE.engines, DIGESTS)
        lane = gpu.GpuLane(garage, nvml.cards(), self.said.append)
        places = Places(self.ws.local / "work" / "x", self.ws.local / "running")
        run_plan(
            Plan(profile=PROFILE, cells=tuple(planned)), CONTEXT, journal, places, self.said.append, lane
        )
        return journal.rows(), journal

    def lines(self, verb: str) -> list[str]:
        """What the container program was asked for."""
        text = self.asked.read_text() if self.asked.exists() else ""
        return [line for line in text.splitlines() if line.startswith(verb)]


@pytest.fixture
def machine(tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Machine:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "docker"
    program.write_text(PROGRAM.format(python=sys.executable, server=SERVER))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DOCKER_LOG", str(tmp_path / "asked"))
    monkeypatch.setenv("FAKE_PID", str(os.getpid()))
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path / "cache"))
    driver.set(process_pid=os.getpid())
    monkeypatch.setattr(launchers, "weighted_folder", lambda name, _say: models.model_folder(name))
    monkeypatch.setattr(serving, "run_aiperf", send)
    for name, value in {"START_LIMIT_S": 10.0, "SETTLE_S": 0.0, "KV_EVERY_S": 0.02}.items():
        monkeypatch.setattr(gpu, name, value)
    return Machine(Workspace(tmp_path), driver, tmp_path / "asked")
