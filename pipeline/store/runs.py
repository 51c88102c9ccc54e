"""Finished runs: which there are, promoting one into the committed data, taking one away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pipeline.errors import DataError, InputError
from pipeline.paths import Workspace
from pipeline.schemas.correction import Correction
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.observation import Observation
from pipeline.schemas.words import MEASURED_LANES
from pipeline.store.checks import check_run
from pipeline.store.files import append_synced, reported, write_synced
from pipeline.store.runfiles import REASON, copy_run, read_manifest, read_rows

Place = Literal["promoted", "local", "quarantined"]
REPEATS_FOR_VERDICTS = 3


@dataclass(frozen=True)
class StoredRun:
    """One finished run and where it lies."""

    place: Place
    folder: Path
    manifest: Manifest

    @property
    def run_id(self) -> str:
        """The run's name, which is also its folder's."""
        return self.manifest.run_id

    @property
    def reason(self) -> str | None:
        """Why the run is in quarantine, null where it is not."""
        path = self.folder / REASON
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def rows(self) -> list[Observation]:
        """All rows of the run."""
        return read_rows(self.folder, self.manifest)


def list_runs(ws: Workspace, *places: Place) -> list[StoredRun]:
    """Finished runs, oldest first; of all places, or of those named.

    Raises:
        DataError: a manifest is missing or damaged.
    """
    found = [run for place in places or ("promoted", "local", "quarantined") for run in _runs_in(ws, place)]
    return sorted(found, key=lambda run: (run.manifest.started_at, run.run_id))


def find_run(ws: Workspace, run_id: str) -> StoredRun:
    """The run of that name.

    Raises:
        InputError: there is none.
    """
    runs = list_runs(ws)
    for run in runs:
        if run.run_id == run_id:
            return run
    known = ", ".join(run.run_id for run in runs[-5:]) or "none yet"
    raise InputError(f"there is no run {run_id}", next_step=f"newest runs: {known}")


def promote(ws: Workspace, run_id: str) -> StoredRun:
    """Move a local run into the committed data. Verdict history is the caller's to append.

    Raises:
        InputError: the run is not local, or has too few repeats to decide anything.
        DataError: the run no longer passes its checks, or the disk refuses.
    """
    run = find_run(ws, run_id)
    if run.place != "local":
        raise InputError(f"only a local run can be promoted, {run_id} is {run.place}", where=str(run.folder))
    if run.manifest.lane in MEASURED_LANES and run.manifest.repeats < REPEATS_FOR_VERDICTS:
        raise InputError(
            f"{run_id} has {run.manifest.repeats} repeats, a verdict needs {REPEATS_FOR_VERDICTS}",
            next_step="promote a run of a profile with enough repeats",
        )
    rows = run.rows()
    if reasons := check_run(rows, run.manifest):
        raise DataError(f"{run_id} fails its checks: {reasons[0]}", where=str(run.folder))
    manifest = run.manifest.model_copy(update={"promoted_at": datetime.now(UTC)})
    copy_run(run.folder, ws.runs / run_id, manifest)
    shutil.rmtree(run.folder)
    return StoredRun("promoted", ws.runs / run_id, manifest)


def discard(ws: Workspace, run_id: str, reason: str) -> StoredRun:
    """Remove a run; of a promoted one a line stays in the corrections.

    Raises:
        InputError: there is no such run, or no reason.
    """
    if not reason.strip():
        raise InputError("a run is discarded for a reason", next_step="say it with --reason")
    run = find_run(ws, run_id)
    if run.place == "promoted":
        with reported("noting the correction", _corrections_file(ws)):
            append_synced(_corrections_file(ws), _correction(run, reason.strip()))
    shutil.rmtree(run.folder)
    return run


def quarantine(ws: Workspace, run_id: str, reason: str) -> Path:
    """Set a local run aside with a reason; nothing speaks from it any more.

    Raises:
        InputError: the run is not local.
    """
    run = find_run(ws, run_id)
    if run.place != "local":
        raise InputError(f"only a local run can be quarantined, {run_id} is {run.place}")
    target = ws.quarantine / run_id
    with reported("setting the run aside", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_synced(run.folder / REASON, f"{reason.strip()}\n".encode())
        run.folder.rename(target)
    return target


def corrections(ws: Workspace) -> list[Correction]:
    """Promoted runs that were removed, oldest first."""
    path = _corrections_file(ws)
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [Correction.model_validate_json(line) for line in lines]


def _corrections_file(ws: Workspace) -> Path:
    return ws.data / "corrections.jsonl"


def _correction(run: StoredRun, reason: str) -> bytes:
    correction = Correction(
        run_id=run.run_id,
        profile=run.manifest.profile,
        lane=run.manifest.lane,
        started_at=run.manifest.started_at,
        removed_at=datetime.now(UTC),
        reason=reason,
    )
    return (correction.model_dump_json() + "\n").encode()


def _runs_in(ws: Workspace, place: Place) -> Iterator[StoredRun]:
    home = {"promoted": ws.runs, "local": ws.local_runs, "quarantined": ws.quarantine}[place]
    for folder in home.glob("[!.]*"):
        if folder.is_dir():
            yield StoredRun(place, folder, read_manifest(folder))
