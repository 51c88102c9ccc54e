"""Two runs at once: the second refuses or waits."""

import subprocess
import sys
import time
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


def holder(seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_refuses_and_names_the_first() -> None:
    first = holder(30)
    try:
        with pytest.raises(BusyError) as caught, run_lock(0):
            pass
        assert f"process {first.pid}" in caught.value.message
        assert "--wait-s" in caught.value.message
    finally:
        first.kill()
        first.wait()


def test_the_second_waits_when_asked() -> None:
    first = holder(1.0)
    said: list[str] = []
    with run_lock(20, said.append):
        assert first.wait() == 0
    assert said == [f"waiting for the run of process {first.pid} to end"]


def test_a_killed_run_frees_the_lock() -> None:
    first = holder(30)
    first.kill()
    first.wait()
    started = time.monotonic()
    with run_lock(0):
        pass
    assert time.monotonic() - started < 5
