"""One set-up or removal of an environment at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(root: Path, report: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock of the environment in `root`.

    Yields:
        The lock's file descriptor, for pip to keep open: pip may outlive a set-up that was killed.
    """
    root.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{root}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another set-up of the same environment")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
