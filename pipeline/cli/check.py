"""`weighbridge check`: everything that is wrong with pages, listed at once."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.cli.build import chosen_workspace


class CheckCommand(BaseModel):
    """Check pages: front matter, unknown names, queries, numbers typed by hand, lengths."""

    page: CliPositionalArg[Path | None] = Field(None, description="Markdown file to check; all pages if none")

    def cli_cmd(self) -> None:
        """Check, and fail with the whole list."""
        from pipeline.site.build import source_of  # noqa: PLC0415
        from pipeline.site.lint import check_docs, moved_pages  # noqa: PLC0415
        from pipeline.site.problems import fail  # noqa: PLC0415

        ws = chosen_workspace()
        docs = source_of(ws) / "docs"
        fail(check_docs(ws, docs, self.page))
        for note in moved_pages(ws, docs, self.page):
            print(f"note: {note}")
        print("Nothing wrong was found.")
