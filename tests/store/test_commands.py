"""What `weighbridge query` and `weighbridge runs` print, and their exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from pipeline.cli import query as query_command
from pipeline.cli import runs as runs_command
from pipeline.cli.app import main
from pipeline.paths import REPOSITORY, Workspace
from tests.fixtures.synthetic_run import RUN_ID, write_synthetic_run


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    ws = Workspace(tmp_path)
    ws.data.mkdir()
    shutil.copytree(REPOSITORY / "data" / "claims", ws.claims)
    shutil.copy(REPOSITORY / "data" / "freshness.toml", ws.data)
    for module in (query_command, runs_command):
        monkeypatch.setattr(module, "Workspace", lambda: ws)
    return ws


SQL = "SELECT 'a' AS word, 1.23456789 AS number, NULL AS nothing, 3 AS count"


def test_a_table_aligns_numbers_and_shows_missing_as_such(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", SQL]) == 0
    head, rule, row = capsys.readouterr().out.splitlines()
    assert head == "word   number  nothing  count"
    assert rule == "----  -------  -------  -----"
    assert row == "a     1.23457  n/a          3"


def test_csv_and_json_keep_missing_empty_and_null(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", SQL, "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row == {"word": "a", "number": "1.23456789", "nothing": "", "count": "3"}
    assert main(["query", SQL, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {"word": "a", "number": 1.23456789, "nothing": None, "count": 3}


def test_describe_lists_every_view(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--describe"]) == 0
    shown = capsys.readouterr().out
    for view in ("runs", "noise", "claims", "local_observations", "observations", "routing", "exchange"):
        assert f"\n{view}: " in f"\n{shown}"
    assert "tok_s_per_gpu" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["query", "DROP TABLE runs"], "may only read, this is DROP"),
        (["query", "SELECT * FROM read_text('/etc/passwd')"], "disabled by configuration"),
        (["query", "SELECT count(*) FROM range(1000000000000)", "--limit-s", "0.2"], "longer than 0.2 s"),
        (["query"], "There is no statement to run."),
        (["runs", "show", "cpu-1"], "there is no run cpu-1"),
        (["runs", "promote", "cpu-1"], "there is no run cpu-1"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(
    ws: Workspace, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert "Traceback" not in printed.err


def test_a_run_from_local_to_promoted_to_removed(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    write_synthetic_run(ws, promoted=False)
    assert main(["runs", "list"]) == 0
    assert (
        f"{RUN_ID}         local       2026-11-30 22:45 UTC    80 min  3 repeats" in capsys.readouterr().out
    )
    assert main(["runs", "show", RUN_ID]) == 0
    assert "kv_pressure 26" in capsys.readouterr().out
    assert main(["runs", "promote", RUN_ID]) == 0
    assert "44 entries added to data/verdicts.jsonl, 0 verdicts changed" in capsys.readouterr().out
    assert main(["query", "SELECT verdict FROM claims WHERE id = 'R01'", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "verdict\ndepends\n"
    assert main(["runs", "discard", RUN_ID, "--reason", "made up"]) == 0
    assert "R01: depends -> not measured (data)" in capsys.readouterr().out
    assert json.loads((ws.data / "corrections.jsonl").read_text())["reason"] == "made up"


def test_no_run_yet_says_what_to_do(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == "No run is finished yet: weighbridge run cpu-quick\n"
