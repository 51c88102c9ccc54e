"""The manifest of one run: everything needed to know what was measured and to repeat it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import Lane


class Host(Strict):
    """The machine a run was measured on."""

    host_id: str = Field(description="hash of the fields below")
    cpu_model: str = Field(description="processor name as the system gives it")
    cores: int = Field(description="logical cores")
    memory_gib: float = Field(description="memory, GiB")
    system: str = Field(description="operating system and architecture")
    gpu_name: str | None = Field(description="GPU name, null without one")
    gpu_form_factor: str | None = Field(description="GPU form factor, e.g. SXM or PCIe")
    gpu_driver: str | None = Field(description="GPU driver version")
    gpu_power_limit_w: float | None = Field(description="GPU power limit, W")
    gpu_count: int | None = Field(None, description="GPUs that the run used, null without one")
    gpu_memory_gib: float | None = Field(None, description="memory of one GPU, GiB")
    gpu_ecc: bool | None = Field(None, description="error correction of the GPU's memory is on")
    gpu_mig: bool | None = Field(None, description="the GPU is split into instances (MIG)")
    gpu_sm_clock_max_mhz: float | None = Field(None, description="highest SM clock of the GPU, MHz")


class Manifest(Strict):
    """One run. `requirements_sha256` pins the exact software of each environment."""

    schema_version: int = Field(description="version of the rows' schema")
    run_id: str = Field(description="name of the run and of its folder")
    profile: str = Field(description="profile that was run")
    lane: Lane = Field(description="evidence lane")
    started_at: datetime = Field(description="start of the run, UTC")
    finished_at: datetime = Field(description="end of the run, UTC")
    git_commit: str | None = Field(description="commit of the pipeline, null outside a repository")
    git_dirty: bool | None = Field(description="uncommitted changes in the checkout")
    command: str = Field(description="command that repeats the run")
    seed: int = Field(description="seed of every workload")
    repeats: int = Field(description="rounds; each measured every cell once")
    host: Host
    versions: dict[str, str] = Field(description="vllm, vllm-router, aiperf and so on, read back")
    requirements_sha256: dict[str, str] = Field(
        description="environment name to hash of its requirement file"
    )
    cells_planned: int = Field(description="cells times repeats, A/A twins included")
    cells_ok: int = Field(description="of those, measured")
    cells_failed: int = Field(description="of those, failed")
    duration_s: float = Field(description="duration of the run, seconds")
    rows_sha256: str = Field(description="hash of observations.jsonl")
    image_digests: dict[str, str] = Field(
        default_factory=dict, description="container image to the digest that was run"
    )
    promoted_at: datetime | None = Field(description="when it was promoted, UTC; null for a local run")
