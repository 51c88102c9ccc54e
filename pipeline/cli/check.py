"""`weighbridge check`: everything that is wrong with pages, listed at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.cli.build import chosen_workspace
from pipeline.errors import CheckFailed, InputError


class CheckCommand(BaseModel):
    """Check pages and claims: fields, unknown names, queries, numbers typed by hand, lengths."""

    page: CliPositionalArg[Path | None] = Field(
        None, description="page (.md) or claim (.toml) to check; all pages and claims if none"
    )
    drift: bool = Field(
        default=False, description="fail, too, where the data left the verdict that a page was written for"
    )

    def cli_cmd(self) -> None:
        """Check, and fail with the whole list (exit code 8)."""
        from pipeline.site.lint import check_claim, check_docs, left_words, moved_pages, readable  # noqa: PLC0415
        from pipeline.site.problems import fail  # noqa: PLC0415
        from pipeline.site.source import source_of  # noqa: PLC0415

        ws = chosen_workspace()
        docs = source_of(ws) / "docs"
        if self.page is not None and self.page.suffix == ".toml":
            fail(check_claim(ws, existing(self.page)))
            notes = []
        else:
            data = readable(ws)
            fail(check_docs(ws, docs, self.page, data))
            notes = moved_pages(ws, docs, self.page, data)
        if self.drift:
            fail_drifted(notes)
        for note in [*notes, *left_words(docs, self.page)]:
            print(f"note: {note}")
        print("Nothing wrong was found.")


def existing(path: Path) -> Path:
    """The path, if a file is there."""
    if not path.is_file():
        raise InputError("there is no such file", where=str(path))
    return path


def fail_drifted(moved: Sequence[str]) -> None:
    """Fail where a page was written for another verdict than the data give now."""
    if moved:
        lines = "\n".join(f"  {each}" for each in moved)
        raise CheckFailed(
            f"the data left verdicts that pages were written for:\n{lines}",
            next_step="read the pages again, correct their words, then their `written_for`",
        )
