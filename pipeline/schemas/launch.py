"""How one server was started: stored with the run and shown on the site."""

from __future__ import annotations

import hashlib

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import Engine, Launcher


class Launch(Strict):
    """One way to start a server. Places of the machine are written as $CACHE, $RUN and $MODEL."""

    launch_id: str = Field(description="hash of the fields below, 16 hexadecimal digits")
    engine: Engine = Field(description="serving engine")
    version: str | None = Field(description="version asked for, null for a server that ran already")
    launcher: Launcher = Field(description="container, venv or url")
    image: str | None = Field(description="container image by tag, null without one")
    image_digest: str | None = Field(description="digest that was run, as the container engine gives it")
    command: str = Field(description="command line as it was run")
    environment: str = Field(description="variables set for it, NAME=value separated by blanks")
    config: str = Field(description="text of its configuration file, empty without one")


def launch_id(parts: tuple[str | None, ...]) -> str:
    """Identity of a launch: 16 hexadecimal digits over what was run."""
    return hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()[:16]
