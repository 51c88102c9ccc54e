"""The rubrics that preparation articles report, as practice uses them: theirs, never a measurement.

Weights are read from the claim that reports them, so they stand in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.site.claims import Standing
from pipeline.site.html import one_block, table

MEMORY_CLAIM, ROUTING_CLAIM = "M23", "R11"
FLAG_CLAIMS = ("M24", "R17")


@dataclass(frozen=True)
class Criterion:
    """One thing to listen for in one's own answer."""

    key: str
    title: str
    asks: str


MEMORY: tuple[Criterion, ...] = (
    Criterion("guarantee", "memory guarantee", "I said what is reserved, what can grow, and what stops it"),
    Criterion("density", "compute density", "I gave work for a GPU: tokens a second, or a second and watt"),
    Criterion("objective", "effect on the objective", "I tied memory to the objective, with its number"),
)
ROUTING: tuple[Criterion, ...] = (
    Criterion("routing", "routing", "where requests go, and what that buys"),
    Criterion("memory", "memory", "what fits, and what does not"),
)
DEGREES: tuple[tuple[str, str], ...] = (
    ("0", "not said"),
    ("0.5", "named"),
    ("1", "with a number and a condition"),
)
FLAGS: tuple[Criterion, ...] = (
    Criterion("mechanism", "a mechanism without a capacity plan", "I named how it works and never what fits"),
    Criterion("feature", "latency as a feature", "I praised low latency and named no objective it must meet"),
    Criterion("kernel", "kernel detail without effect", "no throughput, latency or cost came out of it"),
)


def weightings(claims: Mapping[str, Standing]) -> list[tuple[int, int]]:
    """Weights of routing and memory as reported, such as [(3, 1), (4, 2)]; empty if the claim is unknown."""
    claim = claims.get(ROUTING_CLAIM)
    found = re.findall(r"(\d+):(\d+)", claim.number or "") if claim else []
    return [(int(routing), int(memory)) for routing, memory in found]


def table_of_rubrics(claims: Mapping[str, Standing], ledger: str) -> str:
    """Both rubrics and the red flags as tables, each marked as reported.

    Args:
        claims: standings by id.
        ledger: address of the claim ledger.
    """
    pairs = weightings(claims)
    rows = [
        ["memory", each.title, each.asks, "1 point", _link(MEMORY_CLAIM, ledger)] for each in MEMORY
    ]
    for at, each in enumerate(ROUTING):
        weights = " or ".join(str(pair[at]) for pair in pairs)
        rows.append(["routing", each.title, each.asks, weights, _link(ROUTING_CLAIM, ledger)])
    flags = ", ".join(_link(claim, ledger) for claim in FLAG_CLAIMS)
    rows += [["red flags", each.title, each.asks, "fails", flags] for each in FLAGS]
    return one_block(table(["Rubric", "Point", "What it listens for", "Weight, as reported", "Claim"], rows))


def _link(claim: str, ledger: str) -> str:
    return f'<a href="{ledger}#{claim}">{claim}</a>'
