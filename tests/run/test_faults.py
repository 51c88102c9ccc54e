"""What a run does when engines, clients, the disk or the user fail it: a clear reason, and nothing lost."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.errors import DataError, LoadFailure
from pipeline.lanes import cpu
from pipeline.lanes.serving import Places
from pipeline.load.aiperf import LoadPlan, LoadResult
from pipeline.paths import Workspace
from pipeline.process import free_ports, stop_leftovers
from pipeline.run import run_plan
from pipeline.schemas.observation import Observation
from pipeline.store.journal import Journal
from tests.run.fakes import CONTEXT, current, install, put, send, small_plan


@pytest.fixture(autouse=True)
def restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path / "cache"))
    kept = current()
    yield
    put(kept)


def places_in(folder: Path) -> Places:
    return Places(folder / "work", folder / "notes")


def run(tmp_path: Path, cells: int = 3) -> tuple[list[Observation], list[str]]:
    """Rows and progress lines of a small run."""
    ws = Workspace(tmp_path)
    said: list[str] = []
    journal = Journal.create(ws, CONTEXT.run_id, {"profile": "test"})
    run_plan(small_plan(cells), CONTEXT, journal, places_in(tmp_path), said.append, cpu.CpuLane())
    return journal.rows(), said


def test_a_good_run_stores_every_cell_with_its_values(tmp_path: Path) -> None:
    install()
    rows, said = run(tmp_path)
    assert [row.status for row in rows] == ["ok"] * 3
    assert [row.concurrency for row in rows] == [1, 2, 3]
    assert rows[0].requests_ok == 24
    assert rows[0].prompt_tokens == 24 * 8
    assert rows[0].ttft_p50_ms == 10.0 + 11.5
    assert rows[0].ttft_p90_ms is None, "24 requests do not carry a p90"
    assert rows[0].kv_pool_tokens == 64 * 32
    assert rows[0].tok_s_per_gpu is None
    assert "[3/3]" in said[-2]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("never-healthy", "not healthy after"),
        ("dies-at-start", "vLLM ended before it was ready: ValueError: no room for one sequence"),
        ("dies-at-completion", "first completion failed"),
    ],
)
def test_an_engine_that_does_not_serve_is_a_reason_in_every_row(
    tmp_path: Path, mode: str, reason: str
) -> None:
    install(mode)
    rows, _ = run(tmp_path, 2)
    assert [row.status for row in rows] == ["failed", "failed"]
    assert all(reason in (row.failure or "") for row in rows)
    assert all(row.ttft_p50_ms is None and row.requests is None for row in rows), "missing is never zero"
    assert not list((tmp_path / "notes").iterdir()), "nothing is left running"


def test_an_engine_that_starts_at_the_second_try_loses_nothing(tmp_path: Path) -> None:
    install("dies-at-start,ok")
    rows, _ = run(tmp_path, 2)
    assert [row.status for row in rows] == ["ok", "ok"]


def test_a_port_taken_in_the_meantime_costs_a_second_start_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = [[taken.getsockname()[1]]]
        monkeypatch.setattr(cpu, "free_ports", lambda count: first.pop() if first else free_ports(count))
        rows, said = run(tmp_path, 1)
    assert [row.status for row in rows] == ["ok"]
    assert sum("starting 1 x vllm" in line for line in said) == 2


def test_an_engine_killed_in_a_cell_costs_that_cell_only(tmp_path: Path) -> None:
    kills = [1]

    def killing(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        if plan.workload.concurrency == 2 and kills:
            kills.pop()
            os.kill(int(next((tmp_path / "notes").iterdir()).stem), signal.SIGKILL)
            time.sleep(0.3)
        return send(plan, notes, limit_s, watch)

    install("ok", killing)
    rows, _ = run(tmp_path)
    assert [row.status for row in rows] == ["ok", "failed", "ok"]
    assert "the engine died while it was measured" in (rows[1].failure or "")


def test_a_client_that_fails_costs_that_cell_only(tmp_path: Path) -> None:
    def failing(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        if plan.workload.concurrency == 2:
            raise LoadFailure("all 24 requests failed: HTTP 503")
        return send(plan, notes, limit_s, watch)

    install("ok", failing)
    rows, said = run(tmp_path)
    assert [row.status for row in rows] == ["ok", "failed", "ok"]
    assert any("FAILED, all 24 requests failed" in line for line in said)


def test_requests_of_another_client_are_noticed(tmp_path: Path) -> None:
    def double(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
        send(plan, notes, limit_s, watch)
        return send(plan, notes, limit_s, watch)

    install("ok", double)
    rows, _ = run(tmp_path, 1)
    assert "engines finished 48 requests, the client has 24" in (rows[0].failure or "")


def test_a_full_disk_stops_the_run_and_keeps_what_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    ws = Workspace(tmp_path)
    journal = Journal.create(ws, CONTEXT.run_id, {"profile": "test"})
    stored = journal.append
    calls: list[int] = []

    def full(rows: list[Observation], requests: list[object]) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise DataError("no space left while storing a finished cell", where=str(tmp_path))
        stored(rows, requests)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "append", full)
    with pytest.raises(DataError, match="no space left"):
        run_plan(small_plan(), CONTEXT, journal, places_in(tmp_path), lambda _line: None, cpu.CpuLane())
    assert len(Journal.resume(ws, CONTEXT.run_id).rows()) == 1
    assert not list((tmp_path / "notes").iterdir()), "the engine is stopped"


CHILD = """
import sys
from pathlib import Path
from pipeline.lanes import cpu
from pipeline.lanes.serving import Places
from pipeline.paths import Workspace
from pipeline.run import run_plan
from pipeline.store.journal import Journal
from tests.run.fakes import CONTEXT, install, small_plan
root = Path(sys.argv[1])
install()
journal = Journal.create(Workspace(root), CONTEXT.run_id, {"profile": "test"})
places = Places(root / "work", root / "notes")
run_plan(small_plan(6), CONTEXT, journal, places, lambda line: print(line, flush=True), cpu.CpuLane())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_goes_on_where_it_was(
    tmp_path: Path, number: signal.Signals
) -> None:
    variables = os.environ | {"FAKE_REQUEST_S": "0.02"}
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=variables,
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if "[2/6]" in line:
                break
        child.send_signal(number)
        child.wait(20)
    ws = Workspace(tmp_path)
    stop_leftovers(tmp_path / "notes")
    running = [
        p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])
    ]
    assert not running
    assert Journal.latest_unfinished(ws, "test") == CONTEXT.run_id
    journal = Journal.resume(ws, CONTEXT.run_id)
    assert 2 <= len(journal.done()) <= 3, "at most the cell in flight is lost"
    install()
    said: list[str] = []
    run_plan(small_plan(6), CONTEXT, journal, places_in(tmp_path), said.append, cpu.CpuLane())
    assert len(journal.done()) == 6
    assert "of 6 cells are already measured" in said[0]
