"""Promoting, discarding and quarantining whole runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.errors import DataError, InputError
from pipeline.paths import Workspace
from pipeline.store.journal import Journal
from pipeline.store.runs import corrections, discard, find_run, list_runs, promote, quarantine
from tests.fixtures.rows import RUN_ID, manifest, observation
from tests.fixtures.synthetic_run import write_synthetic_run


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_promoted_run_moves_into_the_committed_data(ws: Workspace) -> None:
    run_id = write_synthetic_run(ws, promoted=False)
    before = find_run(ws, run_id).rows()
    promoted = promote(ws, run_id)
    assert promoted.manifest.promoted_at is not None
    assert find_run(ws, run_id).place == "promoted"
    assert find_run(ws, run_id).rows() == before
    assert (ws.runs / run_id / "requests.parquet").exists()
    assert list_runs(ws, "local") == []


def test_a_run_is_promoted_once(ws: Workspace) -> None:
    with pytest.raises(InputError, match="only a local run"):
        promote(ws, write_synthetic_run(ws, promoted=True))


def test_a_run_with_too_few_repeats_decides_nothing(ws: Workspace) -> None:
    journal = Journal.create(ws, RUN_ID, {})
    journal.append([observation()], [])
    journal.consolidate(manifest(profile="cpu-quick", repeats=1))
    with pytest.raises(InputError, match="1 repeats, a verdict needs 3"):
        promote(ws, RUN_ID)


def test_an_unknown_run_names_the_newest(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=False)
    with pytest.raises(InputError, match="newest runs: synthetic-20261130T224500Z"):
        find_run(ws, "cpu-1")


def test_discarding_needs_a_reason_and_notes_promoted_runs_only(ws: Workspace) -> None:
    local = write_synthetic_run(ws, promoted=False)
    with pytest.raises(InputError, match="for a reason"):
        discard(ws, local, "  ")
    discard(ws, local, "not needed")
    assert corrections(ws) == []
    promoted = write_synthetic_run(ws, promoted=True)
    discard(ws, promoted, "wrong host")
    assert [(each.run_id, each.reason) for each in corrections(ws)] == [(promoted, "wrong host")]
    assert list_runs(ws) == []


def test_a_quarantined_run_keeps_its_rows_and_its_reason(ws: Workspace) -> None:
    run_id = write_synthetic_run(ws, promoted=False)
    quarantine(ws, run_id, "the clock jumped")
    run = find_run(ws, run_id)
    assert (run.place, run.reason) == ("quarantined", "the clock jumped")
    with pytest.raises(InputError, match="is quarantined"):
        promote(ws, run_id)


def test_a_damaged_manifest_is_named(ws: Workspace) -> None:
    run_id = write_synthetic_run(ws, promoted=False)
    (ws.local_runs / run_id / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest\.json"):
        list_runs(ws)


def test_rows_of_an_older_schema_are_promoted_byte_for_byte(ws: Workspace) -> None:
    """Lifting is for reading: the stored rows stay those that the manifest's hash was taken of."""
    oldest = min(Workspace().runs.iterdir())
    shutil.copytree(oldest, ws.local_runs / oldest.name)
    promote(ws, oldest.name)
    assert (ws.runs / oldest.name / "observations.jsonl").read_bytes() == (
        oldest / "observations.jsonl"
    ).read_bytes()
    assert len(find_run(ws, oldest.name).rows()) > 90
