"""pip, run for another environment: watched, quiet, and resumable after it was killed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from pipeline.environments.installed import site

POLL_S = 0.5
REPORT_EVERY_S = 10.0
TAIL_LINES = 15
# What pip writes about places in its configuration that do not exist here says nothing about this set-up.
_NOISE = re.compile(r"^WARNING: Location .* is ignored|^\[notice\]|^Looking in |^\s*$")
_UNREACHABLE = re.compile(
    r"NewConnectionError|NameResolutionError|Timeout|ProxyError|Connection (refused|reset)"
)

Report = Callable[[str], None]


class PipFailed(Exception):
    """pip gave up.

    Args:
        log: everything it wrote.
    """

    def __init__(self, log: str) -> None:
        self.log = log
        super().__init__(self.tail)

    @property
    def tail(self) -> str:
        """Its last lines, without the noise."""
        lines = [line for line in self.log.splitlines() if not _NOISE.search(line)]
        return "\n".join(lines[-TAIL_LINES:])

    @property
    def unreachable(self) -> bool:
        """Whether no registry answered."""
        return bool(_UNREACHABLE.search(self.log))

    @property
    def not_served(self) -> bool:
        """Whether a registry answered, without this release or with another file under its name."""
        missing = "No matching distribution" in self.log and not self.unreachable
        return missing or "DO NOT MATCH THE HASHES" in self.log


def pins(path: Path) -> Iterator[Requirement]:
    """The requirements of a file that apply to this machine."""
    for line in path.read_text().splitlines():
        if line[:1].isalnum():
            one = Requirement(re.split(r"\s*(?:\\|--hash)", line, maxsplit=1)[0])
            if one.marker is None or one.marker.evaluate():
                yield one


@dataclass(frozen=True)
class Job:
    """Where pip works.

    Args:
        root: the environment's folder.
        lock: file descriptor of its lock, which pip keeps open as long as it lives.
        report: takes a line now and then.
    """

    root: Path
    lock: int
    report: Report

    @property
    def log(self) -> Path:
        """File that pip writes to."""
        return self.root / "pip.log"

    def install(self, requirements: Path) -> None:
        """Install one fully pinned and hashed requirement file, exactly as it is.

        Raises:
            PipFailed: with all that pip wrote.
        """
        command = [sys.executable, "-m", "pip", "--python", str(self.root / "bin" / "python"), "install"]
        # Bytecode is written on first import: of thousands of modules a server loads a part.
        command += [
            "--no-input",
            "--no-compile",
            "--no-deps",
            "--require-hashes",
            "--disable-pip-version-check",
        ]
        command += ["-r", str(requirements)]
        with self.log.open("w") as stream:
            process = subprocess.Popen(
                command, stdout=stream, stderr=subprocess.STDOUT, pass_fds=(self.lock,), cwd=self.root
            )
            self._watch(process, total=sum(1 for _ in pins(requirements)))
        if process.returncode:
            raise PipFailed(self.log.read_text(errors="replace"))

    def _watch(self, process: subprocess.Popen[bytes], total: int) -> None:
        due = time.monotonic() + REPORT_EVERY_S
        before = count(self.root)
        try:
            while process.poll() is None:
                time.sleep(POLL_S)
                if time.monotonic() >= due:
                    due += REPORT_EVERY_S
                    self.report(stage(self.log.read_text(errors="replace"), count(self.root) - before, total))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


def stage(log: str, installed: int, total: int) -> str:
    """What pip is doing, from what it wrote and how many packages have come."""
    known = len(re.findall(r"^Requirement already satisfied", log, re.MULTILINE))
    if "Installing collected packages" in log:
        return f"unpacking, {known + installed} of {total} packages"
    return f"fetching, {known + len(re.findall(r'^Collecting', log, re.MULTILINE))} of {total} packages"


def count(root: Path) -> int:
    """Packages that are in an environment."""
    return sum(1 for _ in site(root).glob("*.dist-info"))


def drop_torn(root: Path) -> list[str]:
    """Forget packages that a killed pip was in the middle of, so that the next pip installs them again.

    pip lists its INSTALLER file in a package's RECORD as the last thing it does.
    """
    torn = [path for path in site(root).glob("*.dist-info") if not _is_whole(path)]
    for path in torn:
        shutil.rmtree(path)
    return [path.name for path in torn]


def _is_whole(dist_info: Path) -> bool:
    try:
        return "/INSTALLER," in (dist_info / "RECORD").read_text()
    except OSError:
        return False
