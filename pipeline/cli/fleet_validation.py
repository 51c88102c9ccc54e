"""The validation table of the fleet simulator: computed in parts, so that a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.fleet.check import Check
from pipeline.fleet.validation import REPLAYED, Part, parts, told
from pipeline.paths import PACKAGE, Workspace
from pipeline.schemas.simulated import FleetCheckRow
from pipeline.store.computed import inputs_hash, source_hash
from pipeline.store.runfiles import read_requests, read_rows
from pipeline.store.runs import list_runs

Say = Callable[[str], None]


def validation_inputs(ws: Workspace) -> dict[str, str]:
    """Hash of the simulator, and the stored runs that are played again."""
    runs = {f"run {run.run_id}": str(run.manifest.rows_sha256) for run in _cpu_runs(ws)}
    return {"simulator": source_hash(PACKAGE / "fleet"), **runs}


def validation_rows(ws: Workspace, say: Say) -> list[FleetCheckRow]:
    """Every line; parts that are on disk are not computed again.

    Traces that were not fetched leave their parts out, and say so.
    """
    every = validation_inputs(ws)
    found: list[Check] = []
    for name, part in parts(*_measured(ws)).items():
        inputs = every if name == REPLAYED else {"simulator": every["simulator"]}
        folder = ws.local / "fleet-validation" / inputs_hash(inputs)[:12]
        try:
            found += _kept(folder / f"{name.replace('/', '')}.json", part)
        except InputError as error:
            say(f"{name}: left out, {error.what}")
            continue
        say(f"{name}: done; {told(found)} so far")
    return [FleetCheckRow(**asdict(check)) for check in found]


def _kept(path: Path, part: Part) -> list[Check]:
    if path.exists():
        return [Check(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    found = part()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps([asdict(check) for check in found]), encoding="utf-8")
    partial.replace(path)
    return found


def _cpu_runs(ws: Workspace) -> list[Any]:
    return [run for run in list_runs(ws, "promoted") if run.manifest.lane == "cpu"]


def _measured(ws: Workspace) -> tuple[list[dict[str, Any]], dict[tuple[str, int], dict[str, Any]]]:
    """Rows of the measured runs, and the columns of their requests by cell and repeat."""
    cells: list[dict[str, Any]] = []
    requests: dict[tuple[str, int], dict[str, Any]] = {}
    for run in _cpu_runs(ws):
        cells += [row.model_dump(mode="json") for row in read_rows(run.folder, run.manifest)]
        for key, group in read_requests(run.folder).to_pandas().groupby(["cell_id", "repeat"]):
            requests[str(key[0]), int(key[1])] = {name: group[name].to_numpy() for name in group.columns}
    return cells, requests
