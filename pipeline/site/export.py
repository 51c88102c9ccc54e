"""Downloads of the site: what the store exports, put where pages can link to it."""

from __future__ import annotations

from pathlib import Path

from pipeline.paths import Workspace
from pipeline.store.export import export

FOLDER = "downloads"


def exported(ws: Workspace, folder: Path) -> list[tuple[str, int]]:
    """Export the data into a folder that becomes `downloads/` of the site.

    Returns:
        (path below the site, bytes) of each file.
    """
    return [(f"{FOLDER}/{path.relative_to(folder)}", path.stat().st_size) for path in export(ws, folder)]
