"""The cpu lane: real vLLM replicas on processors, each on a core of its own; resident memory is watched."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pipeline.engines import Server, ServerSpec, VllmServer
from pipeline.engines.models import model_folder
from pipeline.lanes.served import Memory
from pipeline.lanes.serving import Places
from pipeline.process import free_ports
from pipeline.schemas.cell import Cell, EngineKnobs
from pipeline.telemetry.memory import MemoryWatch, members, rss_gib

START_LIMIT_S = 180.0
SETTLE_S = 2.0


class CpuLane:
    """Starts and watches the servers of the cpu lane."""

    @contextmanager
    def servers_for(self, knobs: EngineKnobs, places: Places) -> Iterator[list[Server]]:
        """Equal replicas, each on a core of its own, healthy and probed; always stopped.

        Raises:
            EngineFailure: when one does not start or gives no completion.
        """
        servers: list[Server] = []
        cores = _cores(knobs.replicas)
        try:
            for index, port in enumerate(free_ports(knobs.replicas)):
                spec = ServerSpec(knobs, index, port, cores[index], places.work / "logs", places.notes)
                servers.append(VllmServer.on_cpu(spec))
            for server in servers:
                server.wait_healthy(START_LIMIT_S)
            for server in servers:
                server.probe()
            yield servers
        finally:
            for server in servers:
                server.stop()

    def watch(self, cell: Cell, servers: Sequence[Server]) -> CpuWatch:
        """Resident memory, where the cell asks for it."""
        return CpuWatch(cell, servers)

    def tokenizer(self, knobs: EngineKnobs) -> Path:
        """The model's own folder."""
        return model_folder(knobs.model)

    def must_have_counters(self) -> bool:
        """The lane shows mechanisms, and mechanisms are counted."""
        return True


class CpuWatch:
    """Resident memory of the engines around one load, and their use of KV blocks."""

    def __init__(self, cell: Cell, servers: Sequence[Server]) -> None:
        self._servers, self._on = servers, cell.watch_memory
        self._before = _settled_rss(servers) if self._on else None
        self._watch = MemoryWatch(members([s.pid for s in servers]), lambda: kv_usage(servers))

    def around(self) -> AbstractContextManager[object]:
        """Sampling goes on while the block runs."""
        return self._watch if self._on else nullcontext()

    def memory(self) -> Memory | None:
        """What was seen; None where the cell does not ask."""
        if not self._on:
            return None
        watch = self._watch
        return Memory(
            self._before, watch.rss_peak_gib, _settled_rss(self._servers), watch.kv_usage_peak, None
        )


def kv_usage(servers: Sequence[Server]) -> float | None:
    """Largest share of KV blocks in use over the replicas, 0 to 1."""
    values = [server.kv_usage() for server in servers]
    return max((value for value in values if value is not None), default=None)


def _cores(replicas: int) -> list[int | None]:
    """A core each where there are enough; a single replica takes core 0 and leaves the rest to the client."""
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return [available[i] if i < len(available) else None for i in range(replicas)]


def _settled_rss(servers: Sequence[Server]) -> float:
    time.sleep(SETTLE_S)
    return rss_gib(members([server.pid for server in servers]))
