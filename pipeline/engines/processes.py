"""The process behind a server: a group of this machine's own, a container, or somebody else's server."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import httpx
import psutil

from pipeline.engines.containers import Containers
from pipeline.process import ProcessGroup


class GroupHandle:
    """A server that runs in a session of its own."""

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group

    @property
    def log(self) -> Path:
        """Its log."""
        return self._group.log

    @property
    def pid(self) -> int:
        """Leader of its session."""
        return self._group.pid

    def alive(self) -> bool:
        """Whether it runs."""
        return self._group.alive()

    def stop(self) -> None:
        """Stop the whole session."""
        self._group.stop()

    def pids(self) -> frozenset[int] | None:
        """Every process of the session."""
        return frozenset(process.pid for process in self._group.processes())


class ContainerHandle(GroupHandle):
    """A server in a container; the group is the client that started it and passes signals on."""

    STOP_WAIT_S = 30.0

    def __init__(self, group: ProcessGroup, containers: Containers, name: str) -> None:
        super().__init__(group)
        self._containers, self._name, self._main = containers, name, 0

    def stop(self) -> None:
        """Stop the client, then the container if it outlived it."""
        self._group.stop(wait_s=self.STOP_WAIT_S)
        self._containers.remove(self._name)

    def pids(self) -> frozenset[int] | None:
        """Processes as the host numbers them, which is how the driver names them too."""
        self._main = self._main or self._containers.main_pid(self._name) or 0
        return family(self._main) if self._main else None


class StrangerHandle:
    """A server that its owner started: it is asked, never stopped."""

    def __init__(self, url: str, log: Path) -> None:
        self._url, self.log = url, log
        self.pid = 0
        self._seen, self._asked_s = True, 0.0

    def alive(self) -> bool:
        """Whether it answers; asked at most once in five seconds."""
        if time.monotonic() - self._asked_s > 5.0:
            self._asked_s = time.monotonic()
            try:
                self._seen = httpx.get(f"{self._url}/health", timeout=10.0).status_code < 500
            except httpx.HTTPError:
                self._seen = False
        return self._seen

    def stop(self) -> None:
        """Leave it as it is."""

    def pids(self) -> frozenset[int] | None:
        """Not known."""
        return None


def family(pid: int) -> frozenset[int] | None:
    """A process and all its descendants; None where it has gone."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return frozenset([pid, *(child.pid for child in process.children(recursive=True))])
    return None
