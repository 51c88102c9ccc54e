"""`weighbridge build`, `check` and `preview` as a user runs them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pipeline.cli.app import main
from tests.fixtures.site import BODY, FRONT, made_up_workspace, write_pages


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made_up_workspace(tmp_path)
    write_pages(tmp_path, {"questions/memory.md": FRONT + BODY})
    monkeypatch.setenv("WEIGHBRIDGE_ROOT", str(tmp_path))
    return tmp_path


def test_build_says_where_the_site_is(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build"]) == 0
    assert str(checkout / "site" / "index.html") in capsys.readouterr().out


def test_check_lists_what_is_wrong_and_fails(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = checkout / "docs" / "questions" / "memory.md"
    assert main(["check", str(page)]) == 0
    assert "Nothing wrong" in capsys.readouterr().out
    page.write_text(FRONT + BODY + "It took 30 ms.\n", encoding="utf-8")
    assert main(["check"]) == 8
    assert "memory.md" in (said := capsys.readouterr().err)
    assert "'30 ms' is typed by hand" in said
    assert main(["check", str(checkout / "none.md")]) == 2


def test_check_names_pages_left_by_their_verdict(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = checkout / "docs" / "questions" / "memory.md"
    page.write_text(FRONT.replace("M05: fails", "M05: holds") + BODY, encoding="utf-8")
    assert main(["check"]) == 0
    assert "M05 was written for holds, the data say fails" in capsys.readouterr().out


def test_preview_serves_and_stops_on_ctrl_c(checkout: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "preview", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"WEIGHBRIDGE_ROOT": str(checkout), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        said = ""
        while "Serving on" not in said:
            line = process.stdout.readline()
            assert line, f"it stopped: {said}"
            said += line
        address = re.search(r"http://\S+", said)
        assert address is not None
        with urllib.request.urlopen(f"{address[0]}questions/memory/") as answer:
            assert "What happens when memory runs out?" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 130)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
