"""Asking AIConfigurator in its own environment: jobs out, answers back, two processes at a time."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import EngineFailure

ADAPTER = Path(__file__).parent / "adapter.py"
PROCESSES = 2
POLL_S = 0.2
SAY_EVERY_S = 10.0
# Versions of its kernel tables that answer queries; no other release of them can be asked.
DATABASE = {"vllm": "0.24.0", "trtllm": "1.3.0rc20"}
DATABASE_A100 = {"vllm": "0.14.0", "trtllm": "1.0.0"}


@dataclass(frozen=True)
class Job:
    """One engine of the package and the points wanted of it.

    Attributes:
        key: what the answer is found by.
        model: Hugging Face id that the package ships a config of.
        system: GPU as the package names it, `h100_sxm`.
        backend: `vllm` or `trtllm`.
        tp: tensor parallelism.
        points: (input tokens, output tokens, batch of one attention rank).
        gemm: number format of dense layers; the checkpoint's own if null.
        kv: number format of KV; the checkpoint's own if null.
        moe: number format of experts; the checkpoint's own if null.
        dp: data-parallel attention ranks.
        ep: expert-parallel width.
    """

    key: str
    model: str
    system: str
    backend: str
    tp: int
    points: tuple[tuple[int, int, int], ...]
    gemm: str | None = None
    kv: str | None = None
    moe: str | None = None
    dp: int = 1
    ep: int = 1

    @property
    def version(self) -> str:
        """Release of the kernel tables."""
        return (DATABASE_A100 if self.system == "a100_sxm" else DATABASE)[self.backend]


@dataclass(frozen=True)
class Answer:
    """What the package says to a job.

    Attributes:
        error: why there is nothing, null otherwise.
        labels: number formats used.
        points: ttft_ms, tpot_ms, step_ms, silicon_share, fits, kv_fits; null where a point has none.
        reasons: why a point has none, null where it has.
    """

    error: str | None
    labels: dict[str, str | None]
    points: list[list[Any] | None]
    reasons: list[str | None]


def ask(python: Path, jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, Answer]:
    """Answers by key.

    Args:
        python: of AIConfigurator's environment.
        jobs: with keys that differ.
        say: told about progress.

    Raises:
        EngineFailure: the package's process died; the message has its last lines.
    """
    with tempfile.TemporaryDirectory() as folder:
        parts = [_Part(python, Path(folder) / str(i), part) for i, part in enumerate(_split(jobs)) if part]
        try:
            _wait(parts, len(jobs), say)
        finally:
            for part in parts:
                part.stop()
        return {key: answer for part in parts for key, answer in part.answers().items()}


def _split(jobs: Sequence[Job]) -> list[list[Job]]:
    """Two lists of about equal work; all jobs of one GPU and backend together, as tables load slowly."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.system, job.backend), []).append(job)
    parts: list[list[Job]] = [[] for _ in range(PROCESSES)]
    for group in sorted(groups.values(), key=_work, reverse=True):
        min(parts, key=_work).extend(group)
    return parts


def _work(jobs: Sequence[Job]) -> int:
    """Rough work: an engine costs as much as some hundred points, its tables as much as many engines."""
    return sum(len(job.points) + 200 for job in jobs) + 20_000 * len({(j.system, j.backend) for j in jobs})


class _Part:
    """One process of the package and its files."""

    def __init__(self, python: Path, folder: Path, jobs: Sequence[Job]) -> None:
        folder.mkdir()
        self.out, self.log = folder / "answers.jsonl", folder / "log"
        wanted = [asdict(job) | {"version": job.version} for job in jobs]
        (folder / "jobs.json").write_text(json.dumps(wanted))
        with self.log.open("wb") as log:
            command = [str(python), str(ADAPTER), str(folder / "jobs.json"), str(self.out)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    def done(self) -> int:
        """Jobs answered so far."""
        return self.out.read_bytes().count(b"\n") if self.out.exists() else 0

    def stop(self) -> None:
        """End the process, if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def answers(self) -> dict[str, Answer]:
        """Answers by key."""
        lines = [json.loads(line) for line in self.out.read_text(encoding="utf-8").splitlines()]
        return {
            line["key"]: Answer(
                line["error"], line.get("labels", {}), line.get("points", []), line.get("reasons", [])
            )
            for line in lines
        }


def _wait(parts: Sequence[_Part], wanted: int, say: Callable[[str], None]) -> None:
    said = time.monotonic()
    while any(part.process.poll() is None for part in parts):
        time.sleep(POLL_S)
        if time.monotonic() - said >= SAY_EVERY_S:
            said = time.monotonic()
            say(f"modelled: {sum(part.done() for part in parts)} of {wanted} engines asked")
    for part in parts:
        if part.process.returncode:
            tail = "\n".join(part.log.read_text(errors="replace").splitlines()[-5:])
            raise EngineFailure(
                f"AIConfigurator's process ended with {part.process.returncode}:\n{tail}",
                where=str(ADAPTER),
                next_step="weighbridge env remove aiconfigurator, then env setup aiconfigurator",
            )
