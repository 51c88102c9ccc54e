"""AIPerf's per-request file, whole and damaged; a fake AIPerf that misbehaves."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import LoadFailure
from pipeline.load import aiperf
from pipeline.load.aiperf import LoadPlan, command, read_result, run_aiperf
from pipeline.schemas.cell import Workload


def record(number: int, error: str | None = None) -> dict[str, Any]:
    """A record with the fields that AIPerf 0.13.0 writes."""
    about = {
        "x_request_id": f"id-{number}",
        "conversation_id": f"r{number}",
        "turn_index": 0,
        "request_start_ns": 1_000_000_000 + number,
        "request_end_ns": 2_000_000_000,
    }
    if error:
        return {"metadata": about, "metrics": {}, "error": {"message": error}}
    metrics = {
        "time_to_first_token": {"value": 12.5, "unit": "ms"},
        "inter_token_latency": {"value": 3.0, "unit": "ms"},
        "request_latency": {"value": 40.0, "unit": "ms"},
        "usage_prompt_tokens": {"value": 100, "unit": "tokens"},
        "usage_completion_tokens": {"value": 8, "unit": "tokens"},
    }
    return {"metadata": about, "metrics": metrics}


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "profile_export.jsonl").write_text(text)
    return folder


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


def test_records_come_back_in_order_of_sending(tmp_path: Path) -> None:
    result = read_result(write(tmp_path, lines(record(2), record(1))), 2)
    assert [r.request_id for r in result.requests] == ["id-1", "id-2"]
    assert result.requests[0].ttft_ms == 12.5
    assert result.requests[0].cached_tokens is None


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(LoadFailure, match="no per-request file"):
        read_result(tmp_path, 1)


def test_half_a_line(tmp_path: Path) -> None:
    text = lines(record(1), record(2))
    with pytest.raises(LoadFailure, match="middle of a line"):
        read_result(write(tmp_path, text[:-20]), 2)


def test_fewer_records_than_requests(tmp_path: Path) -> None:
    with pytest.raises(LoadFailure, match="returned 1 of 2 requests"):
        read_result(write(tmp_path, lines(record(1))), 2)


def test_no_request_at_all(tmp_path: Path) -> None:
    with pytest.raises(LoadFailure, match="returned 0 of 2 requests"):
        read_result(write(tmp_path, ""), 2)


def test_only_errors_names_the_first(tmp_path: Path) -> None:
    with pytest.raises(LoadFailure, match="all 2 requests failed: HTTP 503"):
        read_result(write(tmp_path, lines(record(1, "HTTP 503"), record(2, "HTTP 503"))), 2)


def test_many_errors_fail_the_cell(tmp_path: Path) -> None:
    records = [record(n, "only one turn" if n > 4 else None) for n in range(24)]
    with pytest.raises(LoadFailure, match="19 of 24 requests failed: only one turn"):
        read_result(write(tmp_path, lines(*records)), 24)


def test_a_single_error_is_kept_as_an_error(tmp_path: Path) -> None:
    records = [record(n, "cut" if n == 99 else None) for n in range(100)]
    result = read_result(write(tmp_path, lines(*records)), 100)
    assert len(result.answered) == 99
    assert result.requests[99].error == "cut"
    assert result.requests[99].ttft_ms is None


def test_a_changed_unit_is_refused_with_its_line(tmp_path: Path) -> None:
    odd = record(1)
    odd["metrics"]["time_to_first_token"]["unit"] = "sec"
    with pytest.raises(LoadFailure, match="is in sec, not ms") as caught:
        read_result(write(tmp_path, lines(odd)), 1)
    assert "line 1" in caught.value.message


class FakeEnvironment:
    """Stands in for AIPerf's environment; its program is a shell script."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def bin(self, _name: str) -> Path:
        return self._program


def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> LoadPlan:
    program = tmp_path / "aiperf"
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(aiperf, "environment", lambda _name: FakeEnvironment(program))
    work = Workload(traffic="unshared", requests=2, concurrency=1, prompt_tokens=4, output_tokens=4)
    return LoadPlan(
        "http://127.0.0.1:1", "m", tmp_path, tmp_path / "d.jsonl", tmp_path / "run" / "aiperf", work, None
    )


def test_a_failing_aiperf_shows_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = fake(tmp_path, monkeypatch, "print('cannot reach the server'); raise SystemExit(3)")
    with pytest.raises(LoadFailure, match="status 3") as caught:
        run_aiperf(plan, tmp_path / "notes", 30, lambda: None)
    assert "cannot reach the server" in caught.value.message


def test_an_aiperf_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = fake(tmp_path, monkeypatch, "import time, os; print(os.getpid(), flush=True); time.sleep(60)")
    with pytest.raises(LoadFailure, match="did not end within 1 s"):
        run_aiperf(plan, tmp_path / "notes", 1.0, lambda: None)
    pid = int((tmp_path / "run" / "aiperf.log").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_sessions_are_named_in_the_header_the_router_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = fake(tmp_path, monkeypatch, "")
    line = command(
        LoadPlan(
            plan.url, plan.model, plan.tokenizer, plan.dataset, plan.artifacts, plan.workload, "X-Session-ID"
        )
    )
    assert line[line.index("--session-header") + 1] == "X-Session-ID"
    assert "--no-server-metrics" in line, "the router counts scrapes as routing decisions"
