"""The views that queries of evidence may name: all that is stored, noise bands and exchange rates."""

from __future__ import annotations

import duckdb

from pipeline.analysis.exchange import EXCHANGE
from pipeline.analysis.noise import NOISE
from pipeline.analysis.pairs import PAIR_VIEWS
from pipeline.paths import Workspace
from pipeline.store.views import STORED, View, open_views

EVIDENCE_VIEWS: tuple[View, ...] = (*STORED, *PAIR_VIEWS, NOISE, EXCHANGE)
# Requests are large, and local runs decide nothing.
EVIDENCE_NAMES = tuple(
    v.name for v in EVIDENCE_VIEWS if v.name != "requests" and not v.name.startswith("local_")
)


def open_evidence(ws: Workspace) -> duckdb.DuckDBPyConnection:
    """A locked connection with the views of evidence."""
    return open_views(ws, EVIDENCE_VIEWS, EVIDENCE_NAMES)
