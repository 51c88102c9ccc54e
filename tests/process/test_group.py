"""Child processes are always stopped with everything they started."""

import json
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipeline.errors import EngineFailure
from pipeline.process import ProcessGroup, free_ports, stop_leftovers

# Renames nothing but ignores TERM and has a child, as a router that outlives TERM does.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("ready", flush=True)
time.sleep(60)
"""


def start(tmp_path: Path, code: str) -> ProcessGroup:
    group = ProcessGroup([sys.executable, "-c", code], os.environ, tmp_path / "log", tmp_path / "notes")
    until = time.monotonic() + 20
    while "ready" not in group.log.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    return group


def running(pid: int) -> bool:
    """Whether a process lives; a zombie that nobody collects does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_group_that_ignores_term_is_killed_with_its_children(tmp_path: Path) -> None:
    group = start(tmp_path, STUBBORN)
    members = [p.pid for p in group.processes()]
    assert len(members) == 2
    group.stop(wait_s=0.5)
    assert not group.alive()
    assert not [pid for pid in members if running(pid)]
    assert not list((tmp_path / "notes").iterdir())


def test_what_a_killed_command_left_is_stopped_by_the_next(tmp_path: Path) -> None:
    group = start(tmp_path, STUBBORN)
    pid = group.pid
    # As after SIGKILL of the command: nobody calls stop, the note stays.
    assert stop_leftovers(tmp_path / "notes") == 1
    assert not group.alive()
    assert not running(pid)
    assert stop_leftovers(tmp_path / "notes") == 0


def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path: Path) -> None:
    group = start(tmp_path, STUBBORN)
    note = next((tmp_path / "notes").iterdir())
    note.write_text(json.dumps({"session": group.pid, "created": 1000.0}))
    assert stop_leftovers(tmp_path / "notes") == 0
    assert group.alive()
    group.stop(wait_s=0.2)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineFailure, match="could not start /no/such/program"):
        ProcessGroup(["/no/such/program"], os.environ, tmp_path / "log", tmp_path / "notes")


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
