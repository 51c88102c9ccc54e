"""Where things are: one place for every folder name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
REPOSITORY = PACKAGE.parent


@dataclass(frozen=True)
class Workspace:
    """The folders of one checkout.

    Args:
        root: top of the checkout; tests pass a temporary folder.
    """

    root: Path = REPOSITORY

    @property
    def data(self) -> Path:
        """Committed data: promoted runs, computed lanes, claims, history."""
        return self.root / "data"

    @property
    def runs(self) -> Path:
        """Promoted runs of the measured lanes, one folder each."""
        return self.data / "runs"

    @property
    def claims(self) -> Path:
        """Claim files, one TOML each."""
        return self.data / "claims"

    @property
    def local(self) -> Path:
        """Everything that stays on this machine; ignored by git."""
        return self.root / ".weighbridge"

    @property
    def local_runs(self) -> Path:
        """Finished local runs, same layout as `runs`."""
        return self.local / "runs"

    @property
    def journals(self) -> Path:
        """Journals of runs in progress or interrupted."""
        return self.local / "journals"

    @property
    def quarantine(self) -> Path:
        """Runs that failed their checks, with the reason."""
        return self.local / "quarantine"

    @property
    def docs(self) -> Path:
        """Markdown of the site."""
        return self.root / "docs"

    @property
    def site(self) -> Path:
        """The built site; ignored by git."""
        return self.root / "site"


def cache_root() -> Path:
    """The user's cache folder for environments and model folders, shared by all clones."""
    override = os.environ.get("WEIGHBRIDGE_CACHE")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "weighbridge"


def without_places(text: str, *roots: Path) -> str:
    """Text without this machine's folders: what is stored must be the same wherever it was made."""
    named = [(root, "$RUN") for root in roots] + [(cache_root(), "$CACHE"), (REPOSITORY, ".")]
    for root, name in [*named, (Path.home(), "$HOME")]:
        if root != Path(root.anchor):
            text = text.replace(str(root), name)
    return text
