"""The made-up run that tests and page builders use must itself be a run that the store accepts."""

from __future__ import annotations

from pathlib import Path

from pipeline.paths import Workspace
from pipeline.store.checks import check_run
from pipeline.store.runfiles import read_manifest, read_requests, read_rows
from tests.fixtures.synthetic_run import write_synthetic_run


def test_the_synthetic_run_passes_the_checks_and_says_what_it_is(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    run = write_synthetic_run(ws, promoted=True)
    stored = read_manifest(ws.runs / run)
    rows = read_rows(ws.runs / run, stored)
    assert stored.profile == "synthetic"
    assert check_run(rows, stored) == []
    assert len({(row.cell_id, row.repeat) for row in rows if row.twin_of_repeat is None}) >= 120
    assert {row.experiment for row in rows} >= {"kv_pressure", "burst", "batch", "prefix", "routing"}
    assert read_requests(ws.runs / run).num_rows > 0
