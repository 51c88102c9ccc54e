"""The manifest of one run: everything needed to know what was measured and to repeat it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import Lane


class Host(Strict):
    """The machine a run was measured on."""

    host_id: str = Field(description="hash of the fields below")
    cpu_model: str
    cores: int
    memory_gib: float
    system: str
    gpu_name: str | None
    gpu_form_factor: str | None
    gpu_driver: str | None
    gpu_power_limit_w: float | None


class Manifest(Strict):
    """One run. `requirements_sha256` pins the exact software of each environment."""

    schema_version: int
    run_id: str
    profile: str
    lane: Lane
    started_at: datetime
    finished_at: datetime
    git_commit: str | None = Field(description="commit of the pipeline, null outside a repository")
    git_dirty: bool | None
    command: str
    seed: int
    repeats: int
    host: Host
    versions: dict[str, str] = Field(description="vllm, vllm-router, aiperf and so on, read back")
    requirements_sha256: dict[str, str] = Field(description="environment name to hash of its requirement file")
    cells_planned: int
    cells_ok: int
    cells_failed: int
    duration_s: float
    rows_sha256: str = Field(description="hash of observations.jsonl")
    promoted_at: datetime | None
