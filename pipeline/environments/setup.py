"""Set-up of an environment: idempotent, resumable, under a lock, never silent for long."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.environments import pip
from pipeline.environments.catalogue import Spec
from pipeline.environments.installed import Environment, find, folder, write_stamp
from pipeline.environments.lock import alone
from pipeline.environments.machine import platform_can, require_room
from pipeline.errors import EnvironmentMissing

WITHOUT = "without engines, make preview shows the site from committed data"


class Progress:
    """Lines with the environment's name and the time since its set-up began."""

    def __init__(self, name: str) -> None:
        self.name, self.started = name, time.monotonic()

    def __call__(self, text: str) -> None:
        """Print one line."""
        seconds = int(time.monotonic() - self.started)
        print(f"  {self.name:<12} {seconds // 60}:{seconds % 60:02d}  {text}", flush=True)


def set_up(wanted: Spec) -> Environment:
    """The environment, installed if it is not there yet.

    Raises:
        EnvironmentMissing: platform, Python, disk or registry prevent it; the message says which.
    """
    found = find(wanted)
    if found:
        return found
    _require_platform(wanted)
    report = Progress(wanted.name)
    with alone(folder(wanted), report) as lock:
        return find(wanted) or _build(wanted, lock, report)


def set_up_all(wanted: Sequence[Spec]) -> list[Environment]:
    """Several environments, two at a time: one unpacks while the other fetches.

    Raises:
        EnvironmentMissing: the first that could not be set up, after the others have ended.
    """
    for one in wanted:
        _require_platform(one)
    with ThreadPoolExecutor(max_workers=2) as pool:
        pending = [pool.submit(set_up, one) for one in wanted]
    return [one.result() for one in pending]


def _require_platform(wanted: Spec) -> None:
    reason = platform_can(wanted)
    if reason:
        raise EnvironmentMissing(f"{reason}.", next_step=WITHOUT)


def _build(wanted: Spec, lock: int, report: Progress) -> Environment:
    root = folder(wanted)
    require_room(wanted.name, wanted.disk_gib)
    _make_venv(root, report)
    job = pip.Job(root, lock, report)
    try:
        installed = (
            [_install_either(wanted, job), *wanted.requirements] if wanted.either else wanted.requirements
        )
        for requirements in wanted.requirements:
            job.install(requirements)
    except pip.PipFailed as failure:
        raise _explain(wanted, failure) from failure
    _probe(wanted, root, report)
    environment = write_stamp(wanted, root, installed)
    report(f"ready, {pip.count(root)} packages")
    return environment


def _make_venv(root: Path, report: Progress) -> None:
    if (root / "bin" / "python").exists():
        torn = pip.drop_torn(root)
        report(f"going on where the last set-up ended: {pip.count(root)} packages whole, {len(torn)} torn")
        return
    # Without pip of its own: the pipeline's pip installs into it.
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(root)], check=True)
    report(f"new environment in {root}")


def _install_either(wanted: Spec, job: pip.Job) -> Path:
    """Install the first file of `either` that the registry can serve; to try is the only sure probe."""
    for requirements, needed_gib in zip(wanted.either, wanted.either_disk_gib, strict=True):
        require_room(f"{wanted.name} with {requirements.stem}", wanted.disk_gib + needed_gib)
        try:
            job.install(requirements)
        except pip.PipFailed as failure:
            if requirements == wanted.either[-1] or not failure.not_served:
                raise
            job.report(f"{requirements.stem} is not offered to this machine")
        else:
            return requirements
    raise AssertionError("the last file returns or raises")


def _explain(wanted: Spec, failure: pip.PipFailed) -> EnvironmentMissing:
    reason = "the package registry cannot be reached" if failure.unreachable else "pip failed"
    return EnvironmentMissing(
        f"{wanted.name} could not be installed: {reason}. Its last lines:\n{failure.tail}",
        where=str(folder(wanted)),
        next_step=f"once that is mended the same command resumes; {WITHOUT}",
    )


def _probe(wanted: Spec, root: Path, report: Progress) -> None:
    report("trying it (the first time takes longer)")
    command = [str(root / "bin" / "python"), *wanted.probe]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if answer.returncode:
        shutil.rmtree(root)
        tail = "\n".join((answer.stdout + answer.stderr).splitlines()[-pip.TAIL_LINES :])
        raise EnvironmentMissing(
            f"{wanted.name} is installed and does not work here, so it was removed. Its last lines:\n{tail}",
            where=" ".join(command),
            next_step=f"weighbridge env setup {wanted.name} tries again; {WITHOUT}",
        )
