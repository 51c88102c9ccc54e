"""What a fleet is: its engines, its router, its regions and failures. Checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, get_args

from pipeline.errors import InputError
from pipeline.schemas.words import FleetAdmission, FleetPolicy

if TYPE_CHECKING:
    from pipeline.fleet.regions import Regions

POLICIES: tuple[FleetPolicy, ...] = get_args(FleetPolicy)
ADMISSIONS: tuple[FleetAdmission, ...] = get_args(FleetAdmission)
PREFIX_POLICIES = ("cache_aware", "kv_router", "prefix_aware", "prefix_only")


def refuse(what: str, where: str, next_step: str) -> NoReturn:
    """Say what cannot be simulated."""
    raise InputError(what, where=where, next_step=next_step)


@dataclass(frozen=True)
class EngineConfig:
    """One replica's engine.

    Args:
        kv_pool_tokens: KV pool, tokens.
        block_tokens: tokens of a KV block.
        max_num_seqs: most requests that run at once.
        max_num_batched_tokens: most tokens of a step.
        admission: recompute (vLLM: preempt the youngest when blocks run out), no_evict (TensorRT-LLM: reserve
            prompt and longest output), max_utilization (TensorRT-LLM: as recompute), static (reserve the
            longest context for every seat; no prefix cache).
        max_model_len_tokens: context that static reservation reserves; the longest request if None.
        prefix_caching: keep hash blocks of prompts for later requests.
        visible: when a prompt's blocks can be hit: at the end of its prefill, or at its admission.
        cache_outputs: keep blocks of answers too, for the next turn.
        max_queued: requests that may wait at a replica; more are rejected. None for any number.
        offload_tokens: tokens that a tier in host memory holds for each replica, 0 for none.
        offload_gb_s: bandwidth from that tier, GB/s.
        kv_bytes_per_token: bytes of KV of a token, all layers; needed with a tier.
    """

    kv_pool_tokens: int
    block_tokens: int = 16
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    admission: FleetAdmission = "recompute"
    max_model_len_tokens: int | None = None
    prefix_caching: bool = True
    visible: Literal["prefill", "admission"] = "prefill"
    cache_outputs: bool = True
    max_queued: int | None = None
    offload_tokens: int = 0
    offload_gb_s: float = 25.0
    kv_bytes_per_token: float = 0.0

    def __post_init__(self) -> None:
        for name in ("kv_pool_tokens", "block_tokens", "max_num_seqs", "max_num_batched_tokens"):
            if getattr(self, name) < 1:
                refuse(f"{name} is {getattr(self, name)}", "engine", "give a number above zero")
        if self.admission not in ADMISSIONS:
            refuse(f"unknown admission {self.admission!r}", "engine", f"known: {', '.join(ADMISSIONS)}")
        if self.offload_tokens and self.kv_bytes_per_token <= 0:
            refuse("an off-load tier needs kv_bytes_per_token", "engine", "give bytes of KV of one token")


@dataclass(frozen=True)
class RouterConfig:
    """The router.

    Args:
        policy: see `POLICIES`; names and defaults follow vllm-router and Dynamo where they exist.
        view_delay_ms: age of what the router knows of load: it is read anew this often. 0 for the truth.
        view_counts_own: add the router's own decisions to its view at once.
        load_weight_tokens: prefix_aware: matched tokens that one outstanding request is worth.
        cache_threshold: cache_aware: share of the prompt that must match.
        balance_abs_threshold: cache_aware: difference of loads above which it balances.
        balance_rel_threshold: cache_aware: ratio of loads above which it balances.
        virtual_nodes: consistent_hash: points of a replica on the ring.
        bounded_load_factor: bounded_hash: most load of a replica over the mean.
        overlap_credit: kv_router: weight of matched blocks.
        hash_key: what the hash policies hash: session, group or first prefix block.
        inner: hierarchical: policy inside a region.
        spill_outstanding: hierarchical: mean outstanding requests of a region's replicas above which requests
            go to the nearest region with less.
    """

    policy: FleetPolicy
    view_delay_ms: float = 0.0
    view_counts_own: bool = False
    load_weight_tokens: float = 2000.0
    cache_threshold: float = 0.3
    balance_abs_threshold: float = 64.0
    balance_rel_threshold: float = 1.5
    virtual_nodes: int = 160
    bounded_load_factor: float = 1.25
    overlap_credit: float = 1.0
    hash_key: Literal["session", "group", "prefix"] = "session"
    inner: FleetPolicy = "power_of_two"
    spill_outstanding: float = float("inf")

    def __post_init__(self) -> None:
        for name in ("policy", "inner"):
            if getattr(self, name) not in POLICIES:
                refuse(f"unknown {name} {getattr(self, name)!r}", "router", f"known: {', '.join(POLICIES)}")
        if self.inner in ("hierarchical", "consistent_hash", "bounded_hash", "sticky_least_loaded"):
            refuse(f"{self.inner} cannot route inside a region", "router", "name another inner policy")
        if not self.view_delay_ms >= 0:
            refuse(f"view_delay_ms is {self.view_delay_ms}", "router", "give zero or more")

    @property
    def indexed(self) -> bool:
        """Whether the router keeps an index of what each replica has cached."""
        return self.policy in PREFIX_POLICIES or (
            self.policy == "hierarchical" and self.inner in PREFIX_POLICIES
        )


@dataclass(frozen=True)
class Failure:
    """A replica that dies at `at_s` and comes back empty at `until_s`."""

    replica: int
    at_s: float
    until_s: float


@dataclass(frozen=True)
class FleetConfig:
    """The whole fleet.

    Args:
        replicas: engines behind the router.
        engine: each of them.
        router: the router.
        regions: where replicas are; None for one place.
        failures: replicas that die.
        seed: of every random choice.
        drain_limit_s: time after the last arrival at which the run is cut; None for as long as arrivals came,
            60 s at least. What has not ended by then is unfinished.
    """

    replicas: int
    engine: EngineConfig
    router: RouterConfig
    regions: Regions | None = None
    failures: tuple[Failure, ...] = field(default=())
    seed: int = 1
    drain_limit_s: float | None = None

    def __post_init__(self) -> None:
        if self.replicas < 1:
            refuse(f"a fleet of {self.replicas} replicas", "fleet", "give at least one")
        if self.regions is not None and sum(self.regions.replicas) != self.replicas:
            refuse(
                f"regions have {sum(self.regions.replicas)} replicas, the fleet {self.replicas}",
                "fleet, regions",
                "let them agree",
            )
        for one in self.failures:
            if not (0 <= one.replica < self.replicas and 0 <= one.at_s < one.until_s):
                refuse(
                    f"{one} is no failure of this fleet", "fleet, failures", "name a replica and two times"
                )
