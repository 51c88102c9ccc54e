"""An environment that is in place: where its programs are and what exactly it holds."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.environments.catalogue import Spec, spec
from pipeline.errors import EnvironmentMissing
from pipeline.paths import cache_root

STAMP = ".complete"


@dataclass(frozen=True)
class Environment:
    """A finished environment.

    Args:
        spec: what it is.
        root: the virtual environment's folder.
        requirements_sha256: 64 hex digits over the requirement files that were installed.
    """

    spec: Spec
    root: Path
    requirements_sha256: str

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.root / "bin" / "python"

    def bin(self, program: str) -> Path:
        """One of its programs.

        Raises:
            EnvironmentMissing: it holds no such program.
        """
        path = self.root / "bin" / program
        if not path.exists():
            raise EnvironmentMissing(
                f"The environment {self.spec.name} has no program {program}.",
                where=str(self.root),
                next_step=f"weighbridge env remove {self.spec.name}, then env setup {self.spec.name}",
            )
        return path

    def versions(self) -> dict[str, str]:
        """Distribution name -> version, for those that a run records, read from what is installed."""
        found = {d.name: d.version for d in importlib.metadata.distributions(path=[str(site(self.root))])}
        return {name: found[name] for name in self.spec.reports}


def site(root: Path) -> Path:
    """The folder of a virtual environment that holds its packages."""
    return next(iter(sorted(root.glob("lib/python3*/site-packages"))), root / "lib")


def folder(wanted: Spec) -> Path:
    """Where an environment is or would be: one folder for each content of its requirement files."""
    return cache_root() / "envs" / f"{wanted.name}-{wanted.identity}"


def write_stamp(wanted: Spec, root: Path, installed: Sequence[Path]) -> Environment:
    """Mark an environment as finished; the mark names what was installed."""
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in installed)).hexdigest()
    content = {"files": [path.name for path in installed], "requirements_sha256": digest}
    temporary = root / f"{STAMP}.new"
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(root / STAMP)
    return Environment(wanted, root, digest)


def find(wanted: Spec) -> Environment | None:
    """The finished environment, or None; one whose Python has gone does not count."""
    root = folder(wanted)
    try:
        stamp = json.loads((root / STAMP).read_text())
    except (OSError, ValueError):
        return None
    found = Environment(wanted, root, stamp["requirements_sha256"])
    return found if found.python.exists() else None


def environment(name: str) -> Environment:
    """The finished environment of that name.

    Raises:
        InputError: there is no such environment.
        EnvironmentMissing: it is not set up yet.
    """
    wanted = spec(name)
    found = find(wanted)
    if found is None:
        raise EnvironmentMissing(
            f"The environment {name} ({wanted.purpose}) is not set up.",
            where=str(folder(wanted)),
            next_step=f"weighbridge env setup {name}",
        )
    return found
