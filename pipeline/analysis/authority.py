"""Which evidence lane may decide what. A claim file that asks a lane for more is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

import duckdb

from pipeline.errors import CheckFailed
from pipeline.schemas.claim import Claim, Evidence, Kind
from pipeline.schemas.words import MEASURED_LANES, Lane

# A CPU compares policies by latency only where an unloaded miss takes at least this many hits.
MISS_OVER_HIT = 3.0

MAY_DECIDE: Mapping[Lane, frozenset[Kind]] = {
    "gpu": frozenset(
        {
            "mechanism",
            "sign",
            "shape",
            "absolute",
            "policy_counts",
            "policy_latency",
            "engine_vs_engine",
            "memory_breakdown",
        }
    ),
    "cpu": frozenset({"mechanism", "sign", "policy_counts", "policy_latency"}),
    "published": frozenset({"sign", "shape", "absolute", "engine_vs_engine"}),
    "modelled": frozenset({"sign", "shape", "absolute"}),
    "simulated": frozenset({"sign", "scale", "policy_counts", "policy_latency"}),
    "derived": frozenset({"arithmetic"}),
    "reported": frozenset(),
}
_WHY: Mapping[tuple[Lane, Kind], str] = {
    ("modelled", "engine_vs_engine"): "it names the faster engine rightly in too few of the measured pairs",
    ("modelled", "memory_breakdown"): "it pads a constant and uses one model for both engines",
    ("cpu", "absolute"): "a small model on a CPU says nothing about levels of latency, throughput or memory",
    ("simulated", "absolute"): "a fleet simulator does not know a single engine's speed",
}


def check_authority(claim: Claim) -> None:
    """Refuse evidence without authority, and rules that a measured lane cannot use.

    Raises:
        CheckFailed: names the claim, the block and the reason.
    """
    for number, block in enumerate(claim.evidence, start=1):
        for problem in _problems(block):
            raise CheckFailed(
                f"claim {claim.id}: {problem}",
                where=f"data/claims/{claim.id}.toml, evidence block {number}",
                next_step="let another lane decide, or ask this lane for what it can show",
            )
    order = [block.lane for block in claim.evidence]
    if "gpu" in order and "published" in order and order.index("published") < order.index("gpu"):
        raise CheckFailed(f"claim {claim.id}: the lane gpu goes before published")


def _problems(block: Evidence) -> Iterator[str]:
    if block.kind not in MAY_DECIDE[block.lane]:
        why = _WHY.get((block.lane, block.kind), "see the lanes on the method page")
        yield f"the lane {block.lane} has no authority over {block.kind}: {why}"
    if block.lane in MEASURED_LANES and block.rule.noise is None:
        yield f"the lane {block.lane} decides only against a noise band, and the rule names none"
    if block.lane in MEASURED_LANES and not block.experiments:
        yield f"the lane {block.lane} needs the experiments that its query reads"
    if block.lane in MEASURED_LANES and f"lane = '{block.lane}'" not in block.sql:
        yield f"the query does not keep to its lane: it needs the condition lane = '{block.lane}'"


def refused_by_data(block: Evidence, connection: duckdb.DuckDBPyConnection) -> str | None:
    """Why the measured data take a block's authority away, null where they do not.

    Only policies by latency on the cpu lane depend on data: a miss must be dear enough there to show.
    """
    if (block.lane, block.kind) != ("cpu", "policy_latency"):
        return None
    models = connection.execute(
        "SELECT DISTINCT model FROM latest_observations WHERE lane = 'cpu' AND list_contains(?, experiment)",
        [list(block.experiments)],
    ).fetchall()
    for (model,) in models:
        ratio = miss_over_hit(connection, "cpu", model)
        if ratio is None or ratio < MISS_OVER_HIT:
            measured = "not measured" if ratio is None else f"{ratio:.2g}"
            return (
                f"policies by latency need an unloaded miss of at least {MISS_OVER_HIT:g} hits, "
                f"on {model} it is {measured}"
            )
    return None


def miss_over_hit(connection: duckdb.DuckDBPyConnection, lane: str, model: str) -> float | None:
    """Median TTFT of an unloaded prefix miss over that of a hit, from experiment `miss_cost`."""
    found = connection.execute(
        "SELECT traffic LIKE 'miss-%', ttft_p50_ms FROM latest_observations "
        "WHERE experiment = 'miss_cost' AND phase = 'whole' AND status = 'ok' AND ttft_p50_ms IS NOT NULL "
        "AND lane = ? AND model = ?",
        [lane, model],
    ).fetchall()
    misses = [ttft for missed, ttft in found if missed]
    hits = [ttft for missed, ttft in found if not missed]
    return median(misses) / median(hits) if misses and hits else None
