"""Two runs at once: the second refuses or waits."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.errors import BusyError
from pipeline.run import run_lock

HOLD = """
import sys, time
from pipeline.run import run_lock
with run_lock(0):
    print("held", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path))


@contextmanager
def holder(seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(seconds)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_refuses_and_names_the_first() -> None:
    with holder(30) as first:
        with pytest.raises(BusyError) as caught, run_lock(0):
            pass
        assert f"process {first.pid}" in caught.value.message
        assert "--wait-s" in caught.value.message


def test_the_second_waits_when_asked() -> None:
    said: list[str] = []
    with holder(1.0) as first, run_lock(20, said.append):
        assert first.wait() == 0
    assert said == [f"waiting for the run of process {first.pid} to end"]


def test_a_killed_run_frees_the_lock() -> None:
    with holder(30) as first:
        first.kill()
        first.wait()
        with run_lock(0):
            pass
