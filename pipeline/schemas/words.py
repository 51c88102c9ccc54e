"""The vocabulary: every closed set of words, defined once."""

from __future__ import annotations

from typing import Literal

Lane = Literal["gpu", "cpu", "published", "modelled", "simulated", "derived", "reported"]
MEASURED_LANES: tuple[Lane, ...] = ("gpu", "cpu")

Phase = Literal["whole", "cold", "steady"]
Status = Literal["ok", "failed", "quarantined"]
Policy = Literal[
    "round_robin", "random", "power_of_two", "consistent_hash", "cache_aware", "sticky_least_loaded"
]
Engine = Literal["vllm", "tensorrt-llm"]
Launcher = Literal["container", "venv", "url"]
Weights = Literal["dummy", "gaussian", "own"]
KvType = Literal["auto", "fp8"]
Admission = Literal["no-evict", "max-utilisation"]
FleetPolicy = Literal[
    "round_robin",
    "random",
    "power_of_two",
    "least_outstanding",
    "consistent_hash",
    "bounded_hash",
    "sticky_least_loaded",
    "cache_aware",
    "kv_router",
    "prefix_aware",
    "prefix_only",
    "kv_usage",
    "hierarchical",
]
FleetAdmission = Literal["recompute", "no_evict", "max_utilization", "static"]
Topic = Literal["memory", "latency", "cost", "routing", "feasibility", "hardware", "craft", "pay"]
Level = Literal["mid", "senior", "staff"]
Outcome = Literal["holds", "fails", "depends", "ill-posed", "reported", "definition", "not measured"]
Freshness = Literal["current", "stale", "not applicable"]
PairedEngine = Literal["vllm", "tensorrt_llm"]
VersionBasis = Literal["stated", "inferred", "unknown"]
PairFlag = Literal["saturated", "far_apart", "scheduler_knob", "mixed_parallelism"]
PairNote = Literal["checkpoint_label", "version_inferred", "version_unknown"]
