"""`weighbridge build`: the whole site from committed data, or a message and the last good site."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel

from pipeline.paths import REPOSITORY, Workspace


class BuildCommand(BaseModel):
    """Build the site into site/ from the data; a failed build keeps the last good one."""

    def cli_cmd(self) -> None:
        """Build, then say where the site is."""
        # The site engine is slow to import, and the other commands do without it.
        from pipeline.site.build import build_site  # noqa: PLC0415

        built = build_site(chosen_workspace())
        print(f"{built.pages} pages in {built.seconds:.1f} s: {built.site / 'index.html'}")


def chosen_workspace() -> Workspace:
    """The checkout, or the folder named by WEIGHBRIDGE_ROOT."""
    return Workspace(Path(os.environ.get("WEIGHBRIDGE_ROOT") or REPOSITORY).resolve())
