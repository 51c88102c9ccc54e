"""The gpu lane: both engines on NVIDIA cards, watched by the driver's own counters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.engines import Server, ServerSpec
from pipeline.engines.launchers import Garage, folder_of, start_server
from pipeline.errors import EngineFailure, EnvironmentMissing, WeighbridgeError
from pipeline.lanes.cpu import kv_usage
from pipeline.lanes.served import Memory
from pipeline.lanes.serving import Places
from pipeline.process import free_ports
from pipeline.schemas.cell import Cell, EngineKnobs
from pipeline.telemetry import nvml
from pipeline.telemetry.gpu import GpuWatch
from pipeline.telemetry.nvml import Card

START_LIMIT_S = 900.0
"""A first start loads tens of gigabytes and compiles; the static backend builds its engine."""
SETTLE_S = 2.0
KV_EVERY_S = 0.5


class GpuLane:
    """Starts and watches the servers of the gpu lane.

    Args:
        garage: where engines come from on this machine.
        cards: the cards to use, in order.
        say: told of long work.
    """

    def __init__(self, garage: Garage, cards: Sequence[Card], say: Callable[[str], None]) -> None:
        self._garage, self._cards, self._say = garage, list(cards), say

    @contextmanager
    def servers_for(self, knobs: EngineKnobs, places: Places) -> Iterator[list[Server]]:
        """Equal replicas, healthy and probed, each on cards of its own or several on one; always stopped.

        Raises:
            EngineFailure: one does not start, gives no completion, or is of another version than asked.
            EnvironmentMissing: image, environment or room for weights is missing.
        """
        servers: list[Server] = []
        try:
            with nvml.session():
                places_on = placement(knobs, self._cards)
                for index, port in enumerate(free_ports(knobs.replicas)):
                    logs = places.work / "logs"
                    spec = ServerSpec(knobs, index, port, None, logs, places.notes, places_on[index])
                    # One after the other: on one card each sizes its pool by what the others have taken.
                    servers.append(start_server(spec, self._garage, self._say))
                    servers[-1].wait_healthy(START_LIMIT_S)
                    servers[-1].probe()
                    self._require_version(servers[-1], knobs)
                yield servers
        finally:
            for server in servers:
                server.stop()

    def watch(self, _: Cell, servers: Sequence[Server]) -> GpuCellWatch:
        """Memory, power, clocks and heat of the cards that the servers run on."""
        numbers = sorted({gpu for server in servers for gpu in server.spec.gpus})
        return GpuCellWatch([card for card in self._cards if card.index in numbers], servers)

    def tokenizer(self, knobs: EngineKnobs) -> Path:
        """The model's own folder."""
        return folder_of(knobs, self._garage.settings, self._say)

    def must_have_counters(self) -> bool:
        """Latency and memory are measured from outside, so a cell is worth keeping without."""
        return False

    def _require_version(self, server: Server, knobs: EngineKnobs) -> None:
        asked, stated = self._garage.version(knobs), server.version()
        if asked is not None and stated.split("+")[0] != asked:
            raise EngineFailure(
                f"{knobs.name} {asked} was asked for and the server says {stated}",
                where=f"log {server.log}",
                next_step="does the image or environment hold the version that the profile pins?",
            )


class GpuCellWatch:
    """The cards around one load, and how full the engines' KV pools were."""

    def __init__(self, cards: Sequence[Card], servers: Sequence[Server]) -> None:
        self._servers, self._cards = servers, cards
        self._watch = GpuWatch([card.index for card in cards], lambda: _pids(servers))
        time.sleep(SETTLE_S)
        self._rest = self._watch.now()
        self._start, self._finish = self._rest, self._rest
        self._kv: list[float] = []

    @contextmanager
    def around(self) -> Iterator[None]:
        """Sampling goes on while the block runs."""
        end = threading.Event()
        poller = threading.Thread(target=self._poll, args=(end,), daemon=True)
        self._start = self._watch.now()
        poller.start()
        try:
            with self._watch:
                yield
            self._finish = self._watch.now()
        finally:
            end.set()
            poller.join()

    def memory(self) -> Memory:
        """What was seen.

        Raises:
            EngineFailure: a card was lost meanwhile.
        """
        self._watch.require_cards()
        total = sum(card.memory_gib for card in self._cards)
        time.sleep(SETTLE_S)
        seen = self._watch.seen(self._rest, self._start, self._finish, self._watch.now(), total)
        return Memory(None, None, None, max(self._kv, default=None), seen)

    def _poll(self, end: threading.Event) -> None:
        while not end.wait(KV_EVERY_S):
            try:
                usage = kv_usage(self._servers)
            except WeighbridgeError:  # a dead engine is noticed by the load's own watch
                continue
            if usage is not None:
                self._kv.append(usage)


def placement(knobs: EngineKnobs, cards: Sequence[Card]) -> list[tuple[int, ...]]:
    """Cards of each replica: of its own where there are enough, else all replicas on the first ones.

    Raises:
        EnvironmentMissing: one replica alone needs more cards than there are.
    """
    numbers = [card.index for card in cards]
    each = knobs.tensor_parallel
    if len(numbers) < each:
        raise EnvironmentMissing(f"one replica needs {each} GPUs, this machine offers {len(numbers)}")
    if len(numbers) >= each * knobs.replicas:
        return [tuple(numbers[i * each : (i + 1) * each]) for i in range(knobs.replicas)]
    return [tuple(numbers[:each])] * knobs.replicas


def _pids(servers: Sequence[Server]) -> frozenset[int] | None:
    found = [server.pids() for server in servers]
    return None if None in found else frozenset().union(*(each for each in found if each))
