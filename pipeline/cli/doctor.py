"""`weighbridge doctor`: what this machine can measure, what is missing, and why."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

import psutil
from pydantic import BaseModel

from pipeline.environments import BY_DEFAULT, CATALOGUE, environment, machine, platform_can, shelf
from pipeline.errors import EnvironmentMissing
from pipeline.paths import cache_root
from pipeline.run.host import describe_host
from pipeline.telemetry import nvml

MEMORY_GIB = 8.0
"""Two replicas and the load generator stay below this."""

CORES = 2
"""Each replica is pinned to a core of its own."""


class DoctorCommand(BaseModel):
    """Say what this machine can measure, what is missing, and why."""

    def cli_cmd(self) -> None:
        """Print the machine, the environments, and what can run."""
        print("This machine")
        _print(_machine())
        print("\nEnvironments")
        for one in CATALOGUE.values():
            print(f"  {shelf.describe(one)}")
        print("\nWhat can run")
        _print(_lanes())


def _print(rows: Iterator[tuple[str, str]]) -> None:
    for name, text in rows:
        print(f"  {name:<12} {text}")


def _machine() -> Iterator[tuple[str, str]]:
    host, memory = describe_host(), psutil.virtual_memory()
    yield "Python", f"{platform.python_version()} in {sys.prefix}"
    yield "system", f"{host.system}, {' '.join(platform.libc_ver()).strip() or 'C library unknown'}"
    yield "processor", f"{host.cpu_model}, {host.cores} cores{_instructions()}"
    yield "memory", f"{host.memory_gib:.1f} GiB, {memory.available / 2**30:.1f} GiB of it free"
    yield "disk", f"{machine.free_gib(cache_root()):.0f} GiB free in {cache_root()}"
    if found := gpus():
        yield "GPU", "; ".join(found)
    yield "browser", str(machine.browser() or "none: browser tests will be skipped")


def _instructions() -> str:
    flags = machine.cpu_flags()
    names = {"avx2": "AVX2", "avx512f": "AVX-512", "amx_tile": "AMX"}
    known = [name for flag, name in names.items() if flag in flags]
    # Some virtual machines announce AMX and kill a process that uses it; float32 never does.
    note = " (not used: virtual machines may announce it in vain)" if "amx_tile" in flags else ""
    return f"; {', '.join(known)}{note}" if known else ""


def gpus() -> list[str]:
    """Name, memory and driver of each NVIDIA GPU; empty without a driver."""
    return [f"{card.name}, {card.memory_gib:.0f} GiB, driver {card.driver}" for card in nvml.cards()]


def _lanes() -> Iterator[tuple[str, str]]:
    reasons = cpu_lane_reasons()
    yield "site", "yes: make preview, weighbridge build"
    yield (
        "lane cpu",
        "no: " + "; ".join(reasons) if reasons else "yes: weighbridge run cpu-quick, weighbridge run cpu",
    )
    yield "lane gpu", "yes: weighbridge run gpu-nightly --plan" if gpus() else f"no: {nvml.NO_GPU}"


def cpu_lane_reasons() -> list[str]:
    """What keeps the cpu lane from running here; empty when nothing does."""
    names = [one.name for one in BY_DEFAULT]
    reasons = [reason for name in names if (reason := platform_can(name))]
    absent = [name for name in names if not platform_can(name) and not _is_set_up(name)]
    if absent:
        reasons.append(f"not set up: {', '.join(absent)} (weighbridge env setup)")
    total_gib, cores = psutil.virtual_memory().total / 2**30, psutil.cpu_count() or 1
    if total_gib < MEMORY_GIB:
        reasons.append(f"it needs {MEMORY_GIB:g} GiB of memory, this machine has {total_gib:.1f}")
    if cores < CORES:
        reasons.append(f"two replicas need {CORES} cores, this machine has {cores}")
    return reasons


def _is_set_up(name: str) -> bool:
    try:
        environment(name)
    except EnvironmentMissing:
        return False
    return True
