"""A description of this machine, and the state of the checkout."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil

from pipeline.schemas.identity import host_id
from pipeline.schemas.manifest import Host
from pipeline.telemetry.nvml import Card


def describe_host(cards: Sequence[Card] = ()) -> Host:
    """This machine, with the GPUs that a run uses; their fields stay empty on the cpu lane."""
    first = cards[0] if cards else None
    fields: dict[str, object] = {
        "cpu_model": _cpu_model(),
        "cores": psutil.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "gpu_name": first.name if first else None,
        "gpu_form_factor": first.form_factor if first else None,
        "gpu_driver": first.driver if first else None,
        "gpu_power_limit_w": first.power_limit_w if first else None,
        "gpu_count": len(cards) or None,
        "gpu_memory_gib": round(first.memory_gib, 1) if first else None,
        "gpu_ecc": first.ecc if first else None,
        "gpu_mig": first.mig if first else None,
        "gpu_sm_clock_max_mhz": first.sm_clock_max_mhz if first else None,
    }
    return Host.model_validate({"host_id": host_id(fields), **fields})


def git_state(root: Path) -> tuple[str | None, bool | None]:
    """Commit, and whether tracked files differ from it; (None, None) outside a repository."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit, None if changes is None else bool(changes)


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
