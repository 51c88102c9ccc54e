"""GPUs sampled beside a load: memory, power, clocks and heat, with the sampler's own cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import WeighbridgeError
from pipeline.telemetry import nvml

SAMPLES_PER_S = 20.0
SHARED_GRACE = 2
"""Samples in which another process must be seen, or all where there are fewer: one that ends as a cell begins
does not count."""


@dataclass(frozen=True)
class GpuSeen:
    """What the cards did between two instants, all cards together where the unit adds up."""

    vram_before_gib: float | None
    vram_peak_gib: float | None
    vram_after_gib: float | None
    card_before_gib: float | None
    card_peak_gib: float | None
    card_after_gib: float | None
    card_total_gib: float | None
    power_mean_w: float | None
    power_peak_w: float | None
    energy_j: float | None
    sm_clock_mean_mhz: float | None
    sm_clock_min_mhz: float | None
    gpu_temperature_peak_c: float | None
    throttled_share: float | None
    power_capped_share: float | None
    card_shared: bool | None
    sampler_hz: float | None
    sampler_cpu_share: float | None


@dataclass(frozen=True)
class Instant:
    """All cards at one instant."""

    at_s: float
    readings: tuple[nvml.Reading, ...]

    def total(self, name: str) -> float | None:
        """Sum over the cards; None where one of them lacks it."""
        values = [getattr(each, name) for each in self.readings]
        return None if None in values else sum(values)


class GpuWatch:
    """Samples in a thread until stopped; the library must be open all the while.

    Args:
        indexes: the cards.
        pids: gives the engines' processes, None where they cannot be known; asked once a second.
        samples_per_s: how often.
    """

    def __init__(
        self,
        indexes: Sequence[int],
        pids: Callable[[], frozenset[int] | None],
        samples_per_s: float = SAMPLES_PER_S,
    ) -> None:
        self._indexes, self._pids, self._interval_s = tuple(indexes), pids, 1.0 / samples_per_s
        self._handles: list[Any] = [nvml.handle_of(index) for index in self._indexes]
        self.instants: list[Instant] = []
        self.lost: WeighbridgeError | None = None
        self._cpu_s, self._wall_s = 0.0, 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def now(self, pids: frozenset[int] | None = None) -> Instant:
        """One reading of every card.

        Raises:
            EngineFailure: a card is lost.
        """
        own = self._pids() if pids is None else pids
        pairs = zip(self._handles, self._indexes, strict=True)
        return Instant(time.monotonic(), tuple(nvml.read(handle, index, own) for handle, index in pairs))

    def __enter__(self) -> GpuWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def require_cards(self) -> None:
        """Raise what ended the sampling, if anything did."""
        if self.lost:
            raise self.lost

    def seen(
        self, rest: Instant, start: Instant, end: Instant, after: Instant, total_gib: float | None
    ) -> GpuSeen:
        """Everything that was seen.

        Args:
            rest: before the load, settled.
            start: as the load began.
            end: as it ended; energy and power are those between the two.
            after: when the cards had settled again.
            total_gib: memory of the cards.
        """
        flat = [reading for instant in self.instants for reading in instant.readings]
        energy = _difference(start.total("energy_j"), end.total("energy_j"))
        seconds = end.at_s - start.at_s
        powers = _known(instant.total("power_w") for instant in self.instants)
        clocks = _known(each.sm_clock_mhz for each in flat)
        return GpuSeen(
            vram_before_gib=rest.total("process_gib"),
            vram_peak_gib=self._peak("process_gib"),
            vram_after_gib=after.total("process_gib"),
            card_before_gib=rest.total("card_gib"),
            card_peak_gib=self._peak("card_gib"),
            card_after_gib=after.total("card_gib"),
            card_total_gib=total_gib,
            # The cards' own energy counter misses no peak; sampled power stands in where there is none.
            power_mean_w=energy / seconds if energy is not None and seconds > 0 else _mean(powers),
            power_peak_w=max(powers, default=None),
            energy_j=energy,
            sm_clock_mean_mhz=_mean(clocks),
            sm_clock_min_mhz=min(clocks, default=None),
            gpu_temperature_peak_c=max(_known(each.temperature_c for each in flat), default=None),
            throttled_share=_share(each.slowed for each in flat),
            power_capped_share=_share(each.power_capped for each in flat),
            card_shared=_shared([each.strangers for each in flat]),
            sampler_hz=len(self.instants) / self._wall_s if self._wall_s else None,
            sampler_cpu_share=self._cpu_s / self._wall_s if self._wall_s else None,
        )

    def _peak(self, name: str) -> float | None:
        return max(_known(instant.total(name) for instant in self.instants), default=None)

    def _loop(self) -> None:
        began, cpu_began = time.monotonic(), time.thread_time()
        own, asked = self._pids(), began
        due = began
        while True:  # even the shortest load is seen once
            if time.monotonic() - asked > 1.0:
                own, asked = self._pids(), time.monotonic()
            try:
                self.instants.append(self.now(own if own is not None else frozenset()))
            except WeighbridgeError as lost:
                self.lost = lost
                break
            due += self._interval_s
            if self._end.wait(max(0.001, due - time.monotonic())):
                break
        self._wall_s, self._cpu_s = time.monotonic() - began, time.thread_time() - cpu_began


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _difference(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _share(flags: Iterable[bool | None]) -> float | None:
    known = [flag for flag in flags if flag is not None]
    return sum(known) / len(known) if known else None


def _shared(flags: Sequence[bool | None]) -> bool | None:
    known = [flag for flag in flags if flag is not None]
    return sum(known) >= min(SHARED_GRACE, len(known)) if known else None
