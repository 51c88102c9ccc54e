"""What every serving engine is to the rest of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.schemas.cell import EngineKnobs
from pipeline.telemetry.prometheus import Sample


@dataclass(frozen=True)
class ServerSpec:
    """Everything to start one replica."""

    knobs: EngineKnobs
    index: int
    port: int
    core: int | None
    logs: Path
    notes: Path


class Server(Protocol):
    """One running replica."""

    spec: ServerSpec

    @property
    def url(self) -> str:
        """Base address, without a slash at its end."""

    @property
    def log(self) -> Path:
        """The server's log."""

    @property
    def pid(self) -> int:
        """Leader of its session."""

    def wait_healthy(self, deadline_s: float) -> None:
        """Return when it answers; EngineFailure when it dies or the time is over."""

    def probe(self) -> None:
        """One real completion; EngineFailure when it gives none."""

    def version(self) -> str:
        """Version as the server states it."""

    def counters(self) -> Sample:
        """One reading of its counters."""

    def reset_prefix_cache(self) -> None:
        """Forget all cached prefixes."""

    def alive(self) -> bool:
        """Whether the process runs."""

    def stop(self) -> None:
        """Stop it with all that it started."""
