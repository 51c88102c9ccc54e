"""The complete, documented set of views: what is stored, and what analysis adds to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import duckdb

from pipeline.analysis.evidence import EVIDENCE_NAMES, EVIDENCE_VIEWS
from pipeline.analysis.history import read_history
from pipeline.analysis.verdicts import decide, weigh
from pipeline.paths import Workspace
from pipeline.schemas.claim import HistoryEntry, Verdict
from pipeline.schemas.turning import ClaimSplit, ClaimThreshold
from pipeline.store import views as store_views
from pipeline.store.columns import arrow_table, columns_of
from pipeline.store.query import run_query
from pipeline.store.views import View, described, named_in

if TYPE_CHECKING:
    import pandas as pd  # loaded only where a frame is wanted

_VERDICT_COLUMNS, _HISTORY_COLUMNS = tuple(columns_of(Verdict)), tuple(columns_of(HistoryEntry))
_THRESHOLD_COLUMNS, _SPLIT_COLUMNS = tuple(columns_of(ClaimThreshold)), tuple(columns_of(ClaimSplit))


def _claims(ws: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
    return arrow_table(list(_VERDICT_COLUMNS), [dict(each) for each in decide(ws, connection)])


def _thresholds(ws: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
    rows = [dict(row) for each in weigh(ws, connection) for row in each.thresholds]
    return arrow_table(list(_THRESHOLD_COLUMNS), rows)


def _splits(ws: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
    rows = [dict(row) for each in weigh(ws, connection) for row in each.splits]
    return arrow_table(list(_SPLIT_COLUMNS), rows)


def _history(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    return arrow_table(list(_HISTORY_COLUMNS), [dict(each) for each in read_history(ws)])


ALL_VIEWS: tuple[View, ...] = (
    *EVIDENCE_VIEWS,
    View(
        "claims", "One row for each claim, with its verdict now.", _VERDICT_COLUMNS, _claims, EVIDENCE_NAMES
    ),
    View(
        "claim_thresholds",
        "One row for each point that decided a claim: how far it is from turning.",
        _THRESHOLD_COLUMNS,
        _thresholds,
        EVIDENCE_NAMES,
    ),
    View(
        "claim_splits",
        "Where claims that depend turn, and what would part their points better.",
        _SPLIT_COLUMNS,
        _splits,
        EVIDENCE_NAMES,
    ),
    View("verdict_history", "Verdicts as they were recorded.", _HISTORY_COLUMNS, _history),
)


def open_views(ws: Workspace, names: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
    """A locked connection, in memory, with all views, or with those named and what they need.

    Raises:
        DataError: stored data are damaged.
        InputError, CheckFailed: a claim file is wrong (only where `claims` is opened).
    """
    return store_views.open_views(ws, ALL_VIEWS, names)


def query_arrow(ws: Workspace, sql: str, limit_s: float = 10.0, max_rows: int | None = None) -> Any:
    """The result of one reading statement, as an Arrow table. Raises as `query` does."""
    with open_views(ws, named_in(sql, ALL_VIEWS)) as connection:
        return run_query(connection, sql, limit_s=limit_s, max_rows=max_rows)


def query(ws: Workspace, sql: str, limit_s: float = 10.0) -> pd.DataFrame:
    """The result of one reading statement.

    Raises:
        InputError: the statement is wrong, writes, reads a file, or runs over its time.
        DataError: stored data are damaged.
    """
    frame: pd.DataFrame = query_arrow(ws, sql, limit_s).to_pandas()
    return frame


def describe() -> list[tuple[str, str, str, str]]:
    """(view, column, type, description) of every column, from the schemas."""
    return described(ALL_VIEWS)
