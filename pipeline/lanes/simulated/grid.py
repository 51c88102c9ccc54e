"""The published grid: every cell that is simulated, by experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from pipeline.lanes.simulated.cells import GridCell, Traffic
from pipeline.lanes.simulated.serving import DENSE_300B
from pipeline.schemas.words import FleetPolicy

BASELINE: FleetPolicy = "round_robin"
BALANCED: FleetPolicy = "power_of_two"
AWARE: FleetPolicy = "prefix_aware"

# The exchange between routing and memory.
REPLICAS = 16
POOLS_GIB = (4.0, 8.0, 16.0, 32.0, 64.0)
BASE_POOL_GIB = 8.0
LOADS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
SHARES = (0.25, 0.5, 0.75, 0.9375)
PREFIXES = (32, 128, 512, 2048)
GPU_FACTORS = (1.25, 1.5, 2.0, 3.0)
PER_REPLICA, PER_REPLICA_LARGE, LEAST = 450, 200, 3000
"""Requests a replica and seed, up to 32 replicas and beyond, enough to turn a pool over; the least of all."""


def requests(replicas: int) -> int:
    """Requests of one seed."""
    return max(LEAST, replicas * (PER_REPLICA if replicas <= 32 else PER_REPLICA_LARGE))


def traffic(
    load: float, replicas: int, share: float, prefixes: int, skew: float = 0.8, **other: float
) -> Traffic:
    """Open-loop traffic at a load a replica."""
    kind = "prefixes" if share else "unshared"
    number = requests(replicas)
    if not share:
        return Traffic("unshared", load * replicas, number, **other)  # type: ignore[arg-type]
    return Traffic(kind, load * replicas, number, shared=share, prefixes=prefixes, skew=skew, **other)  # type: ignore[arg-type]


def sharing() -> Iterator[tuple[float, int]]:
    """Share of the prompt that is shared, and distinct prefixes; without sharing there are none."""
    yield 0.0, 0
    yield from product(SHARES, PREFIXES)


def exchange() -> Iterator[GridCell]:
    """Policies over pools, loads and sharing; and the baseline on larger fleets at the same total load."""
    for load, (share, prefixes) in product(LOADS, sharing()):
        for policy, pool in product((BASELINE, BALANCED, AWARE), POOLS_GIB):
            yield GridCell("exchange", traffic(load, REPLICAS, share, prefixes), policy, REPLICAS, pool)
        for factor in GPU_FACTORS:
            more = round(REPLICAS * factor)
            same = traffic(load * REPLICAS / more, more, share, prefixes)
            yield GridCell("exchange_gpus", same, BASELINE, more, BASE_POOL_GIB)


POLICIES: tuple[FleetPolicy, ...] = (
    "round_robin", "random", "power_of_two", "least_outstanding", "consistent_hash", "bounded_hash",
    "cache_aware", "kv_router", "prefix_aware", "kv_usage",
)  # fmt: skip


def scale() -> Iterator[GridCell]:
    """What two replicas show, carried to hundreds: the same traffic a replica, fleets of 2 to 256."""
    for replicas, policy in product((2, 4, 8, 16, 32, 64, 128, 256), POLICIES):
        for load in (2.0, 4.0):
            yield GridCell("scale", traffic(load, replicas, 0.75, 512), policy, replicas, 16.0)
        grown = Traffic(
            "tenants", 2.0 * replicas, requests(replicas), shared=0.75, prefixes=32 * replicas, skew=0.8
        )
        yield GridCell("scale", grown, policy, replicas, 16.0)
        if "hash" not in policy:  # nothing to hash without a prefix
            yield GridCell("scale", traffic(2.0, replicas, 0.0, 0), policy, replicas, 16.0)


def stale() -> Iterator[GridCell]:
    """How old the router's view may be."""
    aged: tuple[FleetPolicy, ...] = (
        "least_outstanding",
        "power_of_two",
        "cache_aware",
        "kv_router",
        "prefix_aware",
        "kv_usage",
    )
    for policy, delay, load in product(aged, (0.0, 10.0, 100.0, 1000.0), (2.0, 4.0)):
        yield GridCell("stale", traffic(load, 64, 0.75, 512), policy, 64, 16.0, view_delay_ms=delay)


def collapse() -> Iterator[GridCell]:
    """Hot spots: keys hashed to a replica, and prefixes followed without regard to load."""
    sticky: tuple[FleetPolicy, ...] = (
        "consistent_hash",
        "bounded_hash",
        "prefix_only",
        "prefix_aware",
        "power_of_two",
    )
    for policy, skew, replicas in product(sticky, (0.0, 0.6, 0.8, 1.0, 1.2), (16, 64, 256)):
        yield GridCell("collapse", traffic(2.0, replicas, 0.75, 2048, skew), policy, replicas, 16.0)


def sessions() -> Iterator[GridCell]:
    """Conversations with think time: affinity by session against affinity by prefix."""
    keyed: tuple[FleetPolicy, ...] = (
        "round_robin",
        "consistent_hash",
        "sticky_least_loaded",
        "cache_aware",
        "prefix_aware",
    )
    for policy, pool, rate in product(keyed, (4.0, 16.0, 64.0), (0.2, 0.4)):
        talk = Traffic("sessions", rate * 16, requests(16), prompt=1024, output=256)
        yield GridCell("sessions", talk, policy, 16, pool, hash_key="session")


def regions() -> Iterator[GridCell]:
    """Four regions with their own day: region first with spill-over, or any region."""
    designs: tuple[tuple[FleetPolicy, FleetPolicy | None], ...] = (
        ("power_of_two", None),
        ("prefix_aware", None),
        ("hierarchical", "prefix_aware"),
    )
    for (policy, inner), own, peak, pool in product(
        designs, (0.0, 0.25, 0.5, 0.75, 1.0), (1.0, 1.5, 2.0), (8.0, 32.0)
    ):
        day = traffic(2.5, 32, 0.75, 1024, regions=4, regional_share=own, peak_to_mean=peak)
        yield GridCell("regions", _regional(day), policy, 32, pool, inner=inner)


def continents() -> Iterator[GridCell]:
    """A dense model of 300 B for several continents: the tail of prompts, each region on its own."""
    for prompt, load in product((128, 512, 2048), (0.25, 0.5, 1.0, 2.0)):
        far = Traffic(
            "regional", load * 16, requests(16), prompt=prompt, output=128, regions=4, regional_share=0.0
        )
        designs: tuple[tuple[FleetPolicy, FleetPolicy | None], ...] = (
            (BALANCED, None),
            ("hierarchical", BALANCED),
        )
        for policy, inner in designs:
            yield GridCell("continents", far, policy, 16, 64.0, DENSE_300B.name, inner=inner)


def cap() -> Iterator[GridCell]:
    """Latency against load at one KV pool: what a memory cap leaves open."""
    for pool, load in product(POOLS_GIB, (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)):
        yield GridCell("cap", traffic(load, REPLICAS, 0.0, 0), BALANCED, REPLICAS, pool)


def all_cells() -> list[GridCell]:
    """The whole grid, each cell once."""
    parts: Iterable[Iterator[GridCell]] = (
        exchange(), scale(), stale(), collapse(), sessions(), regions(), continents(), cap(),
    )  # fmt: skip
    return list({cell.id: cell for part in parts for cell in part}.values())


def _regional(plain: Traffic) -> Traffic:
    return Traffic(**{**plain.__dict__, "kind": "regional"})
