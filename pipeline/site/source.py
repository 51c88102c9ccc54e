"""Where the pages of a site are."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError
from pipeline.paths import REPOSITORY, Workspace

CONFIG = "mkdocs.yml"


def source_of(ws: Workspace) -> Path:
    """Where the pages are: the workspace, or this checkout if the workspace has only data."""
    for home in (ws.root, REPOSITORY):
        if (home / CONFIG).exists():
            return home
    raise InputError(f"there is no {CONFIG}", where=str(ws.root), next_step="start the command in a checkout")
