"""The views that queries of evidence may name: all that is stored, noise bands and exchange rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from pipeline.analysis.exchange import EXCHANGE
from pipeline.analysis.noise import NOISE
from pipeline.analysis.pairs import PAIR_VIEWS
from pipeline.paths import Workspace
from pipeline.schemas.claim import Claim
from pipeline.store.views import STORED, View, named_in, open_views

EVIDENCE_VIEWS: tuple[View, ...] = (*STORED, *PAIR_VIEWS, NOISE, EXCHANGE)
# Requests are large, and local runs decide nothing.
EVIDENCE_NAMES = tuple(
    v.name for v in EVIDENCE_VIEWS if v.name != "requests" and not v.name.startswith("local_")
)


# What the engine asks by itself: dates, versions, bands, what a miss costs.
_ENGINE = ("latest_observations", "noise", "computed_lanes")


def evidence_names(claims: Sequence[Claim]) -> list[str]:
    """Views that these claims and the engine itself ask."""
    named = [
        name for claim in claims for block in claim.evidence for name in named_in(block.sql, EVIDENCE_VIEWS)
    ]
    return [name for name in dict.fromkeys([*_ENGINE, *named]) if name in EVIDENCE_NAMES]


def open_evidence(ws: Workspace, names: Iterable[str] = EVIDENCE_NAMES) -> duckdb.DuckDBPyConnection:
    """A locked connection with these views of evidence; all if none are named."""
    return open_views(ws, EVIDENCE_VIEWS, names)
