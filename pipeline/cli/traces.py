"""`weighbridge traces`: fetch the public traces that the simulator replays."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.errors import InputError
from pipeline.fleet import traces


class TracesCommand(BaseModel):
    """Fetch public traces of requests into the cache folder, each checked against its known checksum."""

    names: CliPositionalArg[list[str]] = Field(
        default=[], description=f"traces to fetch, all if none is named: {', '.join(traces.TRACES)}"
    )
    source: Path | None = Field(
        default=None, alias="from", description="folder with the files, where there is no network"
    )

    def cli_cmd(self) -> None:
        """Fetch, and say what is in place."""
        wanted = [traces.trace(name) for name in self.names] or list(traces.TRACES.values())
        if self.source is not None and not self.source.is_dir():
            raise InputError(
                "no such folder", where=str(self.source), next_step="give the folder of the files"
            )
        for one in wanted:
            brought = traces.fetch(one, self.source)
            state = "fetched" if brought else "in place"
            print(f"{one.name:<24} {state:<9} {one.size / 1e6:.1f} MB  {one.licence}  {one.attribution}")
