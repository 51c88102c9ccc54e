"""A child process in a session of its own, always stopped with everything it started.

A group is found by session id, not by name: vllm-router renames itself. Each group is noted on disk while it
lives, so that the next command can stop what a SIGKILL left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from pipeline.errors import EngineFailure

STOP_WAIT_S = 8.0


def child_environment(changes: Mapping[str, str], without: Sequence[str] = ()) -> dict[str, str]:
    """This process's variables with changes; without the one that would make every start compile again."""
    left_out = {"PYTHONDONTWRITEBYTECODE", *without}
    return {name: value for name, value in os.environ.items() if name not in left_out} | dict(changes)


class ProcessGroup:
    """One running child and its descendants.

    Args:
        command: program and arguments.
        environment: the whole environment of the child.
        log: file that takes its output.
        notes: folder in which the group is noted while it lives.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, notes: Path
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        notes.mkdir(parents=True, exist_ok=True)
        self.command, self.log = list(command), log
        with log.open("wb") as output:
            try:
                self._child = subprocess.Popen(
                    self.command,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise EngineFailure(
                    f"could not start {command[0]}: {error.strerror}", where=str(log)
                ) from None
        self._note = notes / f"{self._child.pid}.json"
        self._note.write_text(json.dumps({"session": self._child.pid, "created": _created(self._child.pid)}))

    @property
    def pid(self) -> int:
        """Process id of the child, which is also its session id."""
        return self._child.pid

    def alive(self) -> bool:
        """Whether the child itself still runs."""
        return self._child.poll() is None

    def processes(self) -> list[psutil.Process]:
        """The child and all that share its session."""
        return _session_members(self._child.pid)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit status of the child, or None when it still runs after the time-out."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, wait_s: float = STOP_WAIT_S) -> None:
        """TERM, then KILL, to the whole session; returns when no member is left."""
        _stop_session(self._child.pid, wait_s, reap=self._child.poll)
        self._child.wait()
        self._note.unlink(missing_ok=True)

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of the log."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def stop_leftovers(notes: Path) -> int:
    """Stop groups noted by a command that was killed. Returns how many sessions still had members."""
    found = 0
    for note in sorted(notes.glob("*.json")):
        with contextlib.suppress(ValueError, KeyError, OSError):
            content = json.loads(note.read_text())
            session, created = int(content["session"]), float(content["created"])
            # The leader may be gone while its children live on; a recycled id is told by its start time.
            members = [p for p in _session_members(session) if _start(p) >= created - 1.0]
            if members and abs((_created(session) or created) - created) < 1.0:
                found += 1
                _stop_session(session, STOP_WAIT_S)
        note.unlink(missing_ok=True)
    return found


def _session_members(session: int) -> list[psutil.Process]:
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
    return members


def _stop_session(session: int, wait_s: float, reap: object = None) -> None:
    for number, patience in ((signal.SIGTERM, wait_s), (signal.SIGKILL, 5.0)):
        for process in _session_members(session):
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if callable(reap):
                reap()
            if not _session_members(session):
                return
            time.sleep(0.1)


def _created(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def _start(process: psutil.Process) -> float:
    try:
        return process.create_time()
    except psutil.Error:
        return 0.0
