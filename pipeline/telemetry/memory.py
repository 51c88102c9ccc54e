"""Resident memory of process groups and KV use of engines, sampled beside a load."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psutil

from pipeline.errors import WeighbridgeError

GIB = 2**30


def members(sessions: Sequence[int]) -> list[psutil.Process]:
    """All processes in these sessions."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) in sessions:
                found.append(psutil.Process(pid))
    return found


def rss_gib(processes: Sequence[psutil.Process]) -> float:
    """Resident memory of these processes, GiB; shared pages count once a process."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total / GIB


@dataclass
class MemoryWatch:
    """Samples in a thread until stopped.

    Args:
        processes: the engines' processes, found once; a search at every sample would take the engines' core.
        kv_usage: returns the largest share of KV blocks in use over the replicas, 0 to 1, or None.
        interval_s: time between samples.
    """

    processes: Sequence[psutil.Process]
    kv_usage: Callable[[], float | None]
    interval_s: float = 0.5
    rss: list[float] = field(default_factory=list)
    kv: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def rss_peak_gib(self) -> float | None:
        """Largest sampled resident memory, None without a sample."""
        return max(self.rss, default=None)

    @property
    def kv_usage_peak(self) -> float | None:
        """Largest sampled share of KV blocks in use, None without a sample."""
        return max(self.kv, default=None)

    def _loop(self) -> None:
        while not self._end.is_set():
            started = time.monotonic()
            self.rss.append(rss_gib(self.processes))
            with contextlib.suppress(WeighbridgeError):  # a dead engine is noticed by the load's own watch
                usage = self.kv_usage()
                if usage is not None:
                    self.kv.append(usage)
            self._end.wait(max(0.05, self.interval_s - (time.monotonic() - started)))
