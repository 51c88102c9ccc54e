"""What a crash, a full disk or a bad run may cost: at most the cell in flight."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.errors import DataError
from pipeline.paths import REPOSITORY, Workspace
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.store.journal import Journal
from pipeline.store.runfiles import read_manifest, read_rows
from tests.fixtures.rows import RUN_ID, failed, manifest, observation


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def journal(ws: Workspace) -> Journal:
    return Journal.create(ws, RUN_ID, {"profile": "cpu"})


def cell(number: int, **known: object) -> Observation:
    return observation(cell_id=f"{number:016x}", **known)


def append_cells(journal: Journal, count: int) -> None:
    for number in range(count):
        journal.append([cell(number)], [])


def request(number: int) -> RequestRow:
    values = dict.fromkeys(RequestRow.model_fields) | {
        "cell_id": f"{number:016x}",
        "repeat": 1,
        "request_id": "r1",
        "arrival_s": 0.0,
        "input_tokens": 100,
        "output_tokens": 8,
        "ttft_ms": 31.5,
    }
    return RequestRow.model_validate(values)


def test_what_is_appended_is_read_back_after_a_resume(ws: Workspace, journal: Journal) -> None:
    rows = [cell(1, preemptions=3), cell(1, phase="cold", preemptions=1)]
    journal.append(rows, [request(1)])
    resumed = Journal.resume(ws, RUN_ID)
    assert resumed.header == {"profile": "cpu"}
    assert resumed.rows() == rows
    assert resumed.done() == {("0000000000000001", 1)}


@pytest.mark.parametrize("cut", [1, 20, 2000])
def test_a_torn_last_line_costs_that_cell_only(ws: Workspace, journal: Journal, cut: int) -> None:
    journal.append([cell(1)], [])
    journal.append([cell(2), cell(2, phase="cold")], [])
    path = ws.journals / RUN_ID / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    resumed = Journal.resume(ws, RUN_ID)
    assert resumed.done() == {("0000000000000001", 1)}
    resumed.append([cell(3)], [])
    assert resumed.done() == {("0000000000000001", 1), ("0000000000000003", 1)}


def test_a_damaged_line_in_the_middle_is_named(ws: Workspace, journal: Journal) -> None:
    journal.append([cell(1)], [])
    path = ws.journals / RUN_ID / "rows.jsonl"
    path.write_bytes(b"{]\n" + path.read_bytes())
    with pytest.raises(DataError, match="line 1"):
        journal.rows()


def test_a_failed_cell_is_a_row_and_a_retry_replaces_it(journal: Journal) -> None:
    journal.append([failed("the engine died at its first completion", cell_id="d" * 16)], [])
    assert journal.done() == set()
    assert journal.rows()[0].failure == "the engine died at its first completion"
    journal.append([observation(cell_id="d" * 16)], [])
    assert [row.status for row in journal.rows()] == ["ok"]
    assert journal.done() == {("d" * 16, 1)}


def test_rows_of_two_cells_are_refused(journal: Journal) -> None:
    with pytest.raises(DataError, match="exactly one cell"):
        journal.append([cell(1), cell(2)], [])


def test_an_invalid_row_is_refused_before_anything_is_written(ws: Workspace, journal: Journal) -> None:
    bad = cell(1).model_copy(update={"preemptions": "many"})
    with pytest.raises(ValueError, match="preemptions"):
        journal.append([bad], [])
    assert (ws.journals / RUN_ID / "rows.jsonl").read_bytes() == b""


@pytest.mark.parametrize("accepted", [0, 10])
def test_a_full_disk_loses_nothing(
    ws: Workspace, journal: Journal, monkeypatch: pytest.MonkeyPatch, accepted: int
) -> None:
    journal.append([cell(1)], [])
    write, room = os.write, [accepted]

    def full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(handle, bytes(data)[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DataError, match="No space left") as raised:
        journal.append([cell(2)], [])
    assert "free some space" in raised.value.message
    with pytest.raises(DataError, match="No space left"):
        journal.consolidate(manifest())
    monkeypatch.undo()
    assert not list(ws.local_runs.iterdir())
    assert Journal.resume(ws, RUN_ID).done() == {("0000000000000001", 1)}
    journal.append([cell(2)], [])
    assert len(journal.done()) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small disk")
def test_a_really_full_disk(tmp_path: Path) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=False)
    if mount.returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        journal = Journal.create(Workspace(tmp_path), RUN_ID, {"profile": "cpu"})
        with pytest.raises(DataError, match="No space left"):
            append_cells(journal, 100)
        stored = len(journal.done())
        assert stored > 5
        assert len(Journal.resume(Workspace(tmp_path), RUN_ID).rows()) == stored
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_consolidation_writes_the_run_whole_and_removes_the_journal(ws: Workspace, journal: Journal) -> None:
    journal.append([cell(1)], [request(1)])
    journal.append([failed("no request was answered", cell_id="2" * 16)], [])
    folder = journal.consolidate(manifest())
    assert folder == ws.local_runs / RUN_ID
    stored = read_manifest(folder)
    assert (stored.cells_ok, stored.cells_failed) == (1, 1)
    assert [row.status for row in read_rows(folder, stored)] == ["ok", "failed"]
    assert pq.read_table(folder / "requests.parquet").to_pylist()[0]["ttft_ms"] == 31.5
    assert not (ws.journals / RUN_ID).exists()
    assert Journal.latest_unfinished(ws, "cpu") is None


def test_rows_that_were_edited_by_hand_are_noticed(journal: Journal) -> None:
    journal.append([cell(1, preemptions=3)], [])
    folder = journal.consolidate(manifest())
    path = folder / "observations.jsonl"
    path.write_text(path.read_text().replace('"preemptions":3', '"preemptions":4'))
    with pytest.raises(DataError, match="not those its manifest"):
        read_rows(folder, read_manifest(folder))


def test_a_run_that_fails_its_checks_is_quarantined_with_the_reason(ws: Workspace, journal: Journal) -> None:
    journal.append([cell(1, prefix_hit_rate=1.2)], [])
    folder = journal.consolidate(manifest())
    assert folder == ws.quarantine / RUN_ID
    assert "prefix_hit_rate is 1.2, above 1" in (folder / "reason.txt").read_text()


def test_the_newest_unfinished_run_of_a_profile_is_found(ws: Workspace) -> None:
    for run, profile in [("cpu-20261201T000000Z", "cpu"), ("cpu-20261202T000000Z", "cpu-quick")]:
        Journal.create(ws, run, {"profile": profile})
    assert Journal.latest_unfinished(ws, "cpu") == "cpu-20261201T000000Z"
    assert Journal.latest_unfinished(ws, "gpu-nightly") is None


def test_a_second_journal_of_one_name_is_refused(ws: Workspace, journal: Journal) -> None:
    with pytest.raises(DataError, match="already in progress"):
        Journal.create(ws, journal.run_id, {})


def test_a_killed_writer_loses_at_most_the_cell_in_flight(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from pipeline.paths import Workspace
        from pipeline.store.journal import Journal
        from tests.fixtures.rows import RUN_ID, observation
        journal = Journal.create(Workspace(Path({str(tmp_path)!r})), RUN_ID, {{"profile": "cpu"}})
        for number in range(10_000):
            journal.append([observation(cell_id=f"{{number:016x}}")], [])
            print(number, flush=True)
    """)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout.read().split()]
    done = Journal.resume(Workspace(tmp_path), RUN_ID).done()
    assert {(f"{number:016x}", 1) for number in told} <= done
    assert len(done) <= len(told) + 1
