"""Cells of the fleet grid: what was set, and the hash that names it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Literal

from pipeline.lanes.simulated.serving import LLAMA_8B, SERVINGS, Serving
from pipeline.schemas.words import FleetPolicy

TrafficKind = Literal["unshared", "prefixes", "tenants", "sessions", "regional"]
SEEDS = (11, 12, 13)
NO_REGION = 1


@dataclass(frozen=True)
class Traffic:
    """What arrives. Cells with equal traffic share one generated workload.

    Attributes:
        kind: unshared, prefixes, tenants (prefixes that grow with the fleet), sessions or regional.
        rate_s: requests a second, whole fleet.
        requests: requests of one seed.
        prompt: tokens of a prompt.
        output: tokens of an answer.
        shared: part of the prompt that is a shared prefix.
        prefixes: distinct shared prefixes.
        skew: Zipf exponent of their popularity.
        regions: regions that requests come from.
        regional_share: part of requests whose prefix only their own region uses.
        peak_to_mean: a region's load at its peak over its mean.
    """

    kind: TrafficKind
    rate_s: float
    requests: int
    prompt: int = 4096
    output: int = 256
    shared: float = 0.0
    prefixes: int = 0
    skew: float = 0.0
    regions: int = NO_REGION
    regional_share: float = 0.0
    peak_to_mean: float = 1.0

    @property
    def prefix_tokens(self) -> int:
        """Tokens of a shared prefix, whole hash blocks of 256."""
        return round(self.prompt * self.shared / 256) * 256


@dataclass(frozen=True)
class GridCell:
    """One cell of the grid.

    Attributes:
        experiment: part of the grid.
        traffic: what arrives.
        policy: routing policy.
        replicas: replicas of the whole fleet.
        pool_gib: KV pool of a replica, GiB.
        serving: model and GPUs of a replica.
        view_delay_ms: age of the router's view, ms.
        inner: policy inside a region, for hierarchical routing.
        hash_key: what consistent hashing hashes.
        seeds: seeds; each gives one simulation.
    """

    experiment: str
    traffic: Traffic
    policy: FleetPolicy
    replicas: int
    pool_gib: float
    serving: str = LLAMA_8B.name
    view_delay_ms: float = 0.0
    inner: FleetPolicy | None = None
    hash_key: Literal["session", "group", "prefix"] = "group"
    seeds: tuple[int, ...] = SEEDS

    @property
    def model(self) -> Serving:
        """The serving by its name."""
        return SERVINGS[self.serving]

    @property
    def id(self) -> str:
        """Hash of the knobs that differ from their default, so that a new knob changes no old id."""
        defaults = {field.name: field.default for field in (*fields(Traffic), *fields(GridCell))}
        knobs = asdict(self) | asdict(self.traffic)
        del knobs["traffic"]
        sparse = {name: value for name, value in knobs.items() if value != defaults.get(name)}
        return hashlib.sha256(json.dumps(sparse, sort_keys=True).encode()).hexdigest()[:12]
