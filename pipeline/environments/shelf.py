"""The folder that holds all environments: what is in it, and taking things out."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from pipeline.environments.catalogue import CATALOGUE, Spec
from pipeline.environments.installed import STAMP, find, folder
from pipeline.environments.lock import alone
from pipeline.environments.machine import platform_can
from pipeline.paths import cache_root


def describe(wanted: Spec) -> str:
    """One line: in place with its versions, or why not and what to do."""
    found = find(wanted)
    if found:
        state = ", ".join(f"{name} {version}" for name, version in found.versions().items())
        return f"{wanted.name:<12} ready: {state}"
    reason = platform_can(wanted)
    if reason:
        return f"{wanted.name:<12} not possible here: {reason}"
    state = "set-up was interrupted" if folder(wanted).exists() else "not set up"
    return f"{wanted.name:<12} {state}: weighbridge env setup {wanted.name}"


def outdated() -> list[Path]:
    """Environments of requirement files or Python versions that this checkout does not use."""
    current = {folder(one) for one in CATALOGUE.values()}
    return sorted(path for path in _shelf().glob("*/") if path not in current)


def everything() -> list[Path]:
    """All environments, whole or not."""
    return sorted(_shelf().glob("*/"))


def size_gib(root: Path) -> float:
    """Space that a folder takes, GiB."""
    return sum(path.lstat().st_size for path in root.rglob("*")) / 2**30


def remove(roots: Sequence[Path]) -> None:
    """Delete environments; the mark goes first, so that half of one is never taken for a whole one."""
    for root in roots:
        with alone(root, print):
            (root / STAMP).unlink(missing_ok=True)
            shutil.rmtree(root)


def _shelf() -> Path:
    return cache_root() / "envs"
