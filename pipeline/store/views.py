"""The views a query can name: in memory, typed even when empty, documented from the schemas.

Only the views a query names are loaded. The complete set, with noise bands, exchange rates and claims, is put
together in `pipeline.analysis.views`; this module knows only what is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.paths import Workspace
from pipeline.schemas.computed import COMPUTED_LANES, ComputedManifest
from pipeline.schemas.correction import Correction
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Host, Manifest
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.store.columns import Column, arrow_schema, arrow_table, columns_of
from pipeline.store.computed import ComputedTable, manifests, read_computed
from pipeline.store.query import lock
from pipeline.store.runfiles import read_launches, read_requests
from pipeline.store.runs import Place, StoredRun, corrections, list_runs
from pipeline.store.tables import TABLES

Make = Callable[[Workspace, duckdb.DuckDBPyConnection], Any]
OBSERVATION_COLUMNS = tuple(columns_of(Observation))


@dataclass(frozen=True)
class View:
    """One documented table of the query layer.

    Attributes:
        name: as a query names it; a published name stays.
        description: one sentence.
        columns: in order.
        needs: views that must be there before this one is made.
        make: gives an Arrow table with exactly these columns.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    make: Make
    needs: tuple[str, ...] = ()


def open_views(
    ws: Workspace, views: Sequence[View] | None = None, names: Iterable[str] | None = None
) -> duckdb.DuckDBPyConnection:
    """A locked connection, in memory, with the views that are named and those they need.

    Args:
        ws: the checkout.
        views: what can be named; what is stored, if null.
        names: views to load; all if null.

    Raises:
        DataError: stored data are damaged.
    """
    opened = OpenViews(ws, STORED if views is None else views)
    opened.require(opened.known if names is None else names)
    return opened.connection


class OpenViews:
    """A locked connection, in memory, whose views are loaded when they are first asked for.

    Args:
        ws: the checkout.
        views: what can be named.
    """

    def __init__(self, ws: Workspace, views: Sequence[View]) -> None:
        self.known = {view.name: view for view in views}
        self.connection = duckdb.connect(":memory:")
        self._ws, self._loaded = ws, set[str]()
        lock(self.connection)

    def require(self, names: Iterable[str]) -> None:
        """Load these views and what they need, each once. Raises DataError where stored data are damaged."""
        for name in names:
            _load(self.known[name], self.known, self._ws, self.connection, self._loaded)


def named_in(sql: str, views: Sequence[View]) -> list[str]:
    """Names of views that occur in a query as a word (a few too many do no harm)."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    # A statement that lists what there is needs everything to be there.
    if words & {"show", "duckdb_tables", "duckdb_columns", "information_schema"}:
        return [view.name for view in views]
    return [view.name for view in views if view.name in words]


def described(views: Sequence[View]) -> list[tuple[str, str, str, str]]:
    """(view, column, type, description) of every column of these views."""
    return [
        (view.name, column.name, column.sql_type, column.description)
        for view in views
        for column in view.columns
    ]


def _load(
    view: View,
    known: dict[str, View],
    ws: Workspace,
    connection: duckdb.DuckDBPyConnection,
    loaded: set[str],
) -> None:
    if view.name in loaded:
        return
    for need in view.needs:
        _load(known[need], known, ws, connection, loaded)
    table = view.make(ws, connection)
    connection.register("incoming", table)
    connection.execute(f'CREATE TABLE "{view.name}" AS SELECT * FROM incoming')  # noqa: S608
    connection.unregister("incoming")
    loaded.add(view.name)


def _rows_of(place: Place) -> Make:
    def make(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
        rows = [dict(row) for run in list_runs(ws, place) for row in run.rows()]
        return arrow_table(list(OBSERVATION_COLUMNS), rows)

    return make


def _selected(sql: str) -> Make:
    """A view that is a query over views made before it."""

    def make(_: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
        return connection.sql(sql).to_arrow_table()

    return make


_RUN_TEXTS = [
    Column("place", str, "promoted, local or quarantined"),
    Column("reason", str, "why the run is in quarantine, null where it is not"),
    Column("versions", str, "versions read back, JSON: tool to version"),
    Column("requirements_sha256", str, "hash of each environment's requirement file, JSON"),
    Column("image_digests", str, "container image to the digest that was run, JSON"),
]
_RUN_COLUMNS = (
    *columns_of(Manifest, skip=("host", "versions", "requirements_sha256", "image_digests")),
    *columns_of(Host),
    *_RUN_TEXTS,
)


def _runs(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    return arrow_table(list(_RUN_COLUMNS), [_run_row(run) for run in list_runs(ws)])


def _run_row(run: StoredRun) -> dict[str, Any]:
    manifest = run.manifest
    return {
        **dict(manifest),
        **dict(manifest.host),
        "place": run.place,
        "reason": run.reason,
        "versions": json.dumps(manifest.versions, sort_keys=True),
        "requirements_sha256": json.dumps(manifest.requirements_sha256, sort_keys=True),
        "image_digests": json.dumps(manifest.image_digests, sort_keys=True),
    }


_REQUEST_COLUMNS = (Column("run_id", str, "run that the request belongs to"), *columns_of(RequestRow))


def _requests(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    tables = []
    for run in list_runs(ws, "promoted"):
        table = read_requests(run.folder)
        names = pa.array([run.run_id] * table.num_rows, type=pa.string())
        tables.append(table.add_column(0, "run_id", names))
    return pa.concat_tables([arrow_schema(list(_REQUEST_COLUMNS)).empty_table(), *tables])


_LAUNCH_COLUMNS = (Column("run_id", str, "run that started the server"), *columns_of(Launch))


def _launches(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    rows = [
        {"run_id": run.run_id, **dict(launch)}
        for run in list_runs(ws, "promoted")
        for launch in read_launches(run.folder)
    ]
    return arrow_table(list(_LAUNCH_COLUMNS), rows)


_CORRECTION_COLUMNS = tuple(columns_of(Correction))


def _corrections(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    return arrow_table(list(_CORRECTION_COLUMNS), [dict(each) for each in corrections(ws)])


_COMPUTED_COLUMNS = (
    *columns_of(ComputedManifest, skip=("inputs", "versions", "tables")),
    Column("inputs", str, "what went in, JSON: name to hash or version"),
    Column("versions", str, "packages that computed the tables: name and version, comma separated"),
)


def _computed_lanes(ws: Workspace, _: duckdb.DuckDBPyConnection) -> Any:
    rows = [
        dict(each) | {"inputs": json.dumps(each.inputs, sort_keys=True), "versions": each.versions_text}
        for each in manifests(ws, COMPUTED_LANES).values()
    ]
    return arrow_table(list(_COMPUTED_COLUMNS), rows)


def _computed(table: ComputedTable) -> View:
    return View(
        table.name, table.description, tuple(columns_of(table.row)), lambda ws, _: read_computed(ws, table)
    )


_ROUTED = "SELECT * FROM {} WHERE policy IS NOT NULL"
# Newest by lane, GPU and experiment: nights add up in `observations`, a page speaks from one of them.
_LATEST = """
    WITH dated AS (
        SELECT o.run_id, o.lane, r.gpu_name, o.experiment, max(o.started_at) AS newest
        FROM observations o JOIN runs r ON r.run_id = o.run_id AND r.place = 'promoted'
        WHERE o.status = 'ok' AND o.superseded IS NOT TRUE GROUP BY ALL
    ), newest AS (
        SELECT run_id, experiment FROM dated
        QUALIFY row_number() OVER (PARTITION BY lane, gpu_name, experiment ORDER BY newest DESC, run_id) = 1
    )
    SELECT o.* FROM observations o JOIN newest USING (run_id, experiment)
    WHERE o.superseded IS NOT TRUE
    ORDER BY o.run_id, o.experiment, o.cell_id, o.repeat, o.phase
"""

_COVERAGE_COLUMNS = (
    Column("lane", str, "evidence lane"),
    Column("gpu_name", str, "GPU, null without one"),
    Column("engine", str, "serving engine"),
    Column("experiment", str, "experiment"),
    Column("cells", int, "different cells with a good row"),
    Column("newest", datetime, "start of the newest good row, UTC"),
    Column("age_days", int, "days since then"),
)
_COVERAGE = """
    SELECT o.lane, r.gpu_name, o.engine, o.experiment, count(DISTINCT o.series_id) AS cells,
           max(o.started_at) AS newest, date_diff('day', max(o.started_at), now()::TIMESTAMP) AS age_days
    FROM observations o JOIN runs r ON r.run_id = o.run_id AND r.place = 'promoted'
    WHERE o.status = 'ok' AND o.superseded IS NOT TRUE GROUP BY ALL ORDER BY ALL
"""

STORED: tuple[View, ...] = (
    View("runs", "One row for each finished run, at every place.", _RUN_COLUMNS, _runs),
    View("observations", "Rows of all promoted runs.", OBSERVATION_COLUMNS, _rows_of("promoted")),
    View(
        "latest_observations",
        "Of the promoted rows those that speak now: of each lane, GPU and experiment the newest run.",
        OBSERVATION_COLUMNS,
        _selected(_LATEST),
        ("observations", "runs"),
    ),
    View(
        "latest_repeats",
        "What facts and verdicts are made of: rows that speak now, without failed cells and A/A twins.",
        OBSERVATION_COLUMNS,
        _selected("SELECT * FROM latest_observations WHERE status = 'ok' AND twin_of_repeat IS NULL"),
        ("latest_observations",),
    ),
    View("local_observations", "Rows of this machine's own runs.", OBSERVATION_COLUMNS, _rows_of("local")),
    View(
        "routing",
        "Promoted rows measured through a router.",
        OBSERVATION_COLUMNS,
        _selected(_ROUTED.format("observations")),
        ("observations",),
    ),
    View(
        "local_routing",
        "This machine's own rows measured through a router.",
        OBSERVATION_COLUMNS,
        _selected(_ROUTED.format("local_observations")),
        ("local_observations",),
    ),
    View("requests", "One row for each request of the promoted runs.", _REQUEST_COLUMNS, _requests),
    View(
        "launches",
        "How the servers of promoted runs were started: command line, variables, configuration file.",
        _LAUNCH_COLUMNS,
        _launches,
    ),
    View(
        "coverage",
        "The newest good rows of each lane, GPU, engine and experiment, with their age.",
        _COVERAGE_COLUMNS,
        _selected(_COVERAGE),
        ("observations", "runs"),
    ),
    View(
        "corrections", "Promoted runs that were removed, with the reason.", _CORRECTION_COLUMNS, _corrections
    ),
    View(
        "computed_lanes",
        "One row for each lane that is computed: when, from what, by which command.",
        _COMPUTED_COLUMNS,
        _computed_lanes,
    ),
    *(_computed(table) for table in TABLES),
)
