"""The past of a verdict is appended to and never rewritten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.analysis.history import read_history, record
from pipeline.analysis.views import query_arrow
from pipeline.paths import Workspace
from tests.analysis.made import RATIO, batch, checkout, claim_file, promoted

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SLOWER = batch([10.0] * 3, {4: [20.0] * 3}, twin=10.1)
FLAT = batch([10.0] * 3, {4: [10.0] * 3}, twin=10.1)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = checkout(tmp_path)
    claim_file(ws)
    promoted(ws, SLOWER)
    record(ws, NOW)
    return ws


def causes(ws: Workspace) -> list[tuple[str, str | None, str]]:
    return [(entry.cause, entry.previous, entry.verdict) for entry in read_history(ws)]


def test_nothing_new_adds_nothing(ws: Workspace) -> None:
    assert record(ws, NOW + timedelta(hours=1)) == []
    assert causes(ws) == [("first", None, "fails")]


def test_new_data_that_turn_a_verdict_are_recorded_with_the_one_before(ws: Workspace) -> None:
    past = (ws.data / "verdicts.jsonl").read_bytes()
    later = [row.model_copy(update={"started_at": row.started_at + timedelta(days=1)}) for row in FLAT]
    promoted(ws, later, run_id="cpu-20261201T224500Z")
    (entry,) = record(ws, NOW + timedelta(days=1))
    assert (entry.cause, entry.previous, entry.verdict, entry.value) == ("data", "fails", "holds", 1.0)
    assert (ws.data / "verdicts.jsonl").read_bytes().startswith(past)


def test_a_changed_rule_is_named_as_the_cause(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("threshold = 1.0", "threshold = 3.0"))
    record(ws, NOW)
    assert causes(ws)[-1] == ("rule", "fails", "holds")


def test_a_new_engine_version_is_named_as_the_cause(ws: Workspace) -> None:
    newer = [
        row.model_copy(update={"engine_version": "0.33.0", "started_at": row.started_at + timedelta(days=1)})
        for row in SLOWER
    ]
    promoted(ws, newer, run_id="cpu-20261201T224500Z")
    record(ws, NOW)
    assert causes(ws)[-1] == ("version", "fails", "fails")


def test_changed_words_are_named_as_the_cause(ws: Workspace) -> None:
    claim_file(ws, claim='"Latency does not care about the batch"')
    record(ws, NOW)
    assert causes(ws)[-1] == ("wording", "fails", "fails")


def test_the_history_is_a_view(ws: Workspace) -> None:
    found = query_arrow(ws, "SELECT id, cause, verdict FROM verdict_history").to_pylist()
    assert found == [{"id": "R06", "cause": "first", "verdict": "fails"}]
