"""Docker or Podman as a process: which digest a tag is, the line that runs an image, what was left behind."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import EnvironmentMissing

LABEL = "weighbridge"
PORT = 8000
ANSWER_S = 60.0


@dataclass(frozen=True)
class Container:
    """One container to be run.

    Args:
        name: of the container.
        image: by digest, so that what runs is what was recorded.
        gpus: cards by number.
        port: of this machine, on the loopback address only.
        folders: folder of this machine to its place inside; read only unless it is a cache.
        variables: set inside.
        arguments: after the image.
        entrypoint: program instead of the image's own.
    """

    name: str
    image: str
    gpus: Sequence[int]
    port: int
    folders: Mapping[Path, str]
    variables: Mapping[str, str]
    arguments: Sequence[str]
    entrypoint: str | None = None


class Containers:
    """One container program."""

    def __init__(self, program: str = "docker") -> None:
        self.program = program

    def reason_against(self) -> str | None:
        """Why containers cannot run here, None when they can."""
        try:
            answer = self._ask("version", "--format", "{{.Server.Version}}")
        except OSError:
            return f"{self.program} is not installed"
        return None if answer.returncode == 0 else f"{self.program} does not answer: {_last(answer)}"

    def digest(self, image: str) -> str | None:
        """Digest of an image that is here, with its repository; None where it is not."""
        try:
            answer = self._ask("image", "inspect", "--format", "{{index .RepoDigests 0}}", image)
        except OSError:
            return None
        return answer.stdout.strip() or None if answer.returncode == 0 else None

    def pull(self, image: str) -> str:
        """Fetch an image and say which digest it has.

        Raises:
            EnvironmentMissing: the program is absent or could not fetch it.
        """
        reason = self.reason_against()
        if reason is None:
            # An image is about 20 GB: its own progress is shown.
            done = subprocess.run([self.program, "pull", image], check=False)
            reason = None if done.returncode == 0 else f"{image} could not be fetched"
        if reason:
            raise EnvironmentMissing(reason, next_step="mend that, then weighbridge gpu setup again")
        found = self.digest(image)
        if found is None:
            raise EnvironmentMissing(f"{image} has no digest", where=self.program)
        return found

    def line(self, wanted: Container) -> list[str]:
        """The command line that runs a container in the foreground; it goes when it ends."""
        line = [
            self.program,
            "run",
            "--rm",
            "--name",
            wanted.name,
            "--label",
            LABEL,
            *self._gpus(wanted.gpus),
        ]
        line += ["--ipc", "host", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"]
        line += ["--publish", f"127.0.0.1:{wanted.port}:{PORT}"]
        for folder, inside in wanted.folders.items():
            line += ["--volume", f"{folder}:{inside}"]
        for name, value in wanted.variables.items():
            line += ["--env", f"{name}={value}"]
        line += ["--entrypoint", wanted.entrypoint] if wanted.entrypoint else []
        return [*line, wanted.image, *wanted.arguments]

    def main_pid(self, name: str) -> int | None:
        """The container's first process as the host numbers it."""
        try:
            answer = self._ask("inspect", "--format", "{{.State.Pid}}", name)
        except OSError:
            return None
        text = answer.stdout.strip()
        return int(text) if answer.returncode == 0 and text.isdigit() and int(text) else None

    def remove(self, name: str) -> None:
        """Stop and remove a container; one that has gone is no error."""
        self._ask("rm", "--force", name)

    def remove_leftovers(self) -> int:
        """Remove containers that a killed run left. Returns how many there were."""
        try:
            names = self._ask("ps", "--all", "--quiet", "--filter", f"label={LABEL}").stdout.split()
        except OSError:
            return 0
        for name in names:
            self.remove(name)
        return len(names)

    def _gpus(self, gpus: Sequence[int]) -> list[str]:
        if self.program == "podman":
            return [part for gpu in gpus for part in ("--device", f"nvidia.com/gpu={gpu}")]
        # Docker reads this value as CSV, so a list of cards needs quotes of its own.
        return ["--gpus", f'"device={",".join(map(str, gpus))}"']

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *words], capture_output=True, text=True, timeout=ANSWER_S, check=False
        )


def _last(answer: subprocess.CompletedProcess[str]) -> str:
    lines = (answer.stderr or answer.stdout).strip().splitlines()
    return lines[-1][:200] if lines else f"status {answer.returncode}"
