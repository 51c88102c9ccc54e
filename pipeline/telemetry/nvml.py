"""NVIDIA's management library, read only: what cards there are, and what one of them does now.

Nothing here changes a setting. What a card does not support, or does not let this user see, is None. A card
that was lost (driver reset, fallen off the bus) is an error, because every later number would be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import pynvml

from pipeline.errors import EngineFailure, EnvironmentMissing

GIB = 2**30
Value = TypeVar("Value")
NO_GPU = "no NVIDIA GPU or driver here"

# Reasons that slow a card down although it is asked to work; the power limit is counted apart.
SLOWED = {
    "hardware slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "hardware heat": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "software heat": pynvml.nvmlClocksThrottleReasonSwThermalSlowdown,
    "power brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}
POWER_CAP = pynvml.nvmlClocksThrottleReasonSwPowerCap
_LOST = (pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED, pynvml.NVML_ERROR_UNINITIALIZED)
_FORMS = (
    (r"\bSXM", "SXM"),
    (r"\bNVL\b", "PCIe NVL"),
    (r"PCIe", "PCIe"),
    # Data-centre boards with stacked memory that do not name PCIe are modules.
    (r"HBM3|H200|B200|GB200|A100-SXM", "SXM"),
    (r"GeForce|RTX|\bL4|\bL40|\bA10\b|\bA30\b|\bT4\b", "PCIe"),
)


@dataclass(frozen=True)
class Card:
    """One GPU as it is set up."""

    index: int
    name: str
    memory_gib: float
    form_factor: str | None
    driver: str
    power_limit_w: float | None
    ecc: bool | None
    mig: bool | None
    sm_clock_max_mhz: float | None


@dataclass(frozen=True)
class Reading:
    """One GPU at one moment; units are in the names."""

    card_gib: float | None
    process_gib: float | None
    strangers: bool | None
    power_w: float | None
    energy_j: float | None
    sm_clock_mhz: float | None
    temperature_c: float | None
    slowed: bool | None
    power_capped: bool | None


@contextmanager
def session() -> Iterator[None]:
    """The library, open while the block runs.

    Raises:
        EnvironmentMissing: there is no driver, or it cannot be used.
    """
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise EnvironmentMissing(
            NO_GPU, where=f"NVML: {error}", next_step="install the NVIDIA driver, or measure the cpu lane"
        ) from None
    try:
        yield
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def cards() -> list[Card]:
    """Every GPU of this machine; empty without a driver."""
    try:
        with session():
            return [card(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except (EnvironmentMissing, pynvml.NVMLError):
        return []


def card(index: int) -> Card:
    """How a card is set up; the library must be open."""
    handle = handle_of(index)
    name = _text(pynvml.nvmlDeviceGetName(handle))
    limit_mw = known(lambda: pynvml.nvmlDeviceGetEnforcedPowerLimit(handle))
    ecc = known(lambda: pynvml.nvmlDeviceGetEccMode(handle)[0])
    mig = known(lambda: pynvml.nvmlDeviceGetMigMode(handle)[0])
    return Card(
        index=index,
        name=name,
        memory_gib=pynvml.nvmlDeviceGetMemoryInfo(handle).total / GIB,
        form_factor=form_factor(name),
        driver=_text(pynvml.nvmlSystemGetDriverVersion()),
        power_limit_w=None if limit_mw is None else limit_mw / 1000,
        ecc=None if ecc is None else bool(ecc),
        mig=None if mig is None else bool(mig),
        sm_clock_max_mhz=known(lambda: float(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM))),
    )


def form_factor(name: str) -> str | None:
    """SXM or PCIe from the board's name, because the library does not say; None where the name does not."""
    return next((form for pattern, form in _FORMS if re.search(pattern, name)), None)


def handle_of(index: int) -> Any:
    """The library's handle of a card.

    Raises:
        EngineFailure: the card is lost, or there is none of that number.
    """
    return _never_lost(lambda: pynvml.nvmlDeviceGetHandleByIndex(index), index)


def read(handle: Any, index: int, pids: frozenset[int] | None) -> Reading:
    """One reading.

    Args:
        handle: of the card.
        index: its number, for messages.
        pids: processes of the engines; null where they cannot be known, then nothing is told apart.

    Raises:
        EngineFailure: the card is lost.
    """
    memory = _never_lost(lambda: known(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle)), index)
    own, strangers = _processes(handle, pids)
    power_mw = known(lambda: pynvml.nvmlDeviceGetPowerUsage(handle))
    energy_mj = known(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))
    reasons = _slowing(handle)
    return Reading(
        card_gib=None if memory is None else memory.used / GIB,
        process_gib=own,
        strangers=strangers,
        power_w=None if power_mw is None else power_mw / 1000,
        energy_j=None if energy_mj is None else energy_mj / 1000,
        sm_clock_mhz=known(lambda: float(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))),
        temperature_c=known(
            lambda: float(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))
        ),
        slowed=None if reasons is None else bool(reasons & sum(SLOWED.values())),
        power_capped=None if reasons is None else bool(reasons & POWER_CAP),
    )


def _slowing(handle: Any) -> int | None:
    """Bits of what slows the clocks; drivers before 535 have the older name only."""
    found = known(lambda: int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)))
    if found is None:
        found = known(lambda: int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
    return found


def known(call: Callable[[], Value]) -> Value | None:
    """What the library says, None where the card does not support it or this user may not see it.

    Raises:
        EngineFailure: the card is lost.
    """
    try:
        return call()
    except pynvml.NVMLError as error:
        if error.value in _LOST:
            raise _lost(error) from None
        return None


def _never_lost(call: Callable[[], Value], index: int) -> Value:
    try:
        return call()
    except pynvml.NVMLError as error:
        raise _lost(error, index) from None


def _lost(error: pynvml.NVMLError, index: int | None = None) -> EngineFailure:
    return EngineFailure(
        f"the GPU cannot be read any more: {error}",
        where="NVML" if index is None else f"GPU {index}",
        next_step="the driver was reset or the card is gone; see the kernel's log, then run again",
    )


def _processes(handle: Any, pids: frozenset[int] | None) -> tuple[float | None, bool | None]:
    """(GiB of these processes, whether others are there); None where the list is not to be had."""
    found: Sequence[Any] | None = known(lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    if found is None or pids is None:
        return None, None
    own = [each for each in found if each.pid in pids]
    if not own:  # inside a container the host's process ids are not known: nothing can be told apart
        return None, None
    used = [each.usedGpuMemory for each in own]
    return None if None in used else sum(used) / GIB, len(own) < len(found)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
