"""The engines and the router of one cell as they run, and what was seen while they served it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.engines import Server
from pipeline.load import LoadResult, Prompt
from pipeline.routers import RouterDecisions
from pipeline.schemas.launch import Launch
from pipeline.telemetry.gpu import GpuSeen
from pipeline.telemetry.prometheus import Sample


@dataclass(frozen=True)
class Memory:
    """Resident memory of the engines around one load, GiB, and their KV use."""

    before_gib: float | None
    peak_gib: float | None
    after_gib: float | None
    kv_usage_peak: float | None
    gpu: GpuSeen | None


@dataclass(frozen=True)
class Served:
    """Everything that was read while one cell ran."""

    prompts: Sequence[Prompt]
    dataset: bytes
    load: LoadResult
    before: Sequence[Sample]
    after: Sequence[Sample]
    logs: Sequence[str]
    decisions: RouterDecisions | None
    memory: Memory | None
    servers: Sequence[Server]
    version: str | None = None
    launch: Launch | None = None
