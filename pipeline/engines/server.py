"""What every serving engine is to the rest of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.schemas.cell import EngineKnobs
from pipeline.schemas.launch import Launch
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
    gpus: tuple[int, ...] = ()


class Server(Protocol):
    """One running replica."""

    spec: ServerSpec
    launch: Launch | None

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

    def begin_cell(self) -> None:
        """A cell starts: forget peaks that the engine's counters have kept."""

    def kv_usage(self) -> float | None:
        """Share of KV blocks in use now, 0 to 1; None where the engine does not say."""

    def model_name(self) -> str:
        """The name that requests must carry."""

    def pids(self) -> frozenset[int] | None:
        """Its processes; None where they cannot be known."""

    def cause(self) -> str | None:
        """The line of the log that names what went wrong."""

    def reset_prefix_cache(self) -> bool:
        """Forget all cached prefixes; false where the engine has no way to."""

    def alive(self) -> bool:
        """Whether the process runs."""

    def stop(self) -> None:
        """Stop it with all that it started."""
