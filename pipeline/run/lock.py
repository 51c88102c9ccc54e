"""One measurement at a time on a machine: two would measure each other."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from pipeline.errors import BusyError
from pipeline.paths import cache_root


@contextmanager
def run_lock(wait_s: float, say: object = print) -> Iterator[None]:
    """Hold the machine's lock; it is freed by the kernel even after SIGKILL.

    Args:
        say: told once that it waits.
        wait_s: how long to wait for another run to end; 0 refuses at once.

    Raises:
        BusyError: when another run still holds it after the wait.
    """
    path = cache_root() / "run.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        _acquire(file, wait_s, say)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def _acquire(file: IO[str], wait_s: float, say: object) -> None:
    until, told = time.monotonic() + wait_s, False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
        else:
            return
        if time.monotonic() >= until:
            raise BusyError(
                "another run is measuring on this machine",
                where=f"process {holder}",
                next_step="wait for it, or use --wait-s to queue this one behind it",
            )
        if not told and callable(say):
            say(f"waiting for the run of process {holder} to end")
            told = True
        time.sleep(1.0)
