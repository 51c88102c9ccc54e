"""`weighbridge preview`: the site from committed data on a local address, built again as files change."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.cli.build import chosen_workspace


class PreviewCommand(BaseModel):
    """Serve the site from committed data and reload it as you write; needs no engine."""

    page: CliPositionalArg[Path | None] = Field(
        None, description="one question page to build alone, in seconds; the whole site if none"
    )
    port: int = Field(8000, ge=0, le=65535, description="port to serve on; 0 takes a free one")
    host: str = Field("127.0.0.1", description="address to serve on")

    def cli_cmd(self) -> None:
        """Serve until Ctrl-C."""
        from pipeline.site.preview import serve  # noqa: PLC0415

        serve(chosen_workspace(), self.host, self.port, self.page)
