"""A query reads the views, and can do nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.schemas.observation import Observation
from pipeline.store.query import run_query
from pipeline.store.runs import discard
from pipeline.store.views import STORED, described, named_in, open_views
from tests.fixtures.synthetic_run import write_synthetic_run

Connection = duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    ws = Workspace(tmp_path_factory.mktemp("checkout"))
    write_synthetic_run(ws, promoted=True)
    write_synthetic_run(ws, promoted=False, run_id="synthetic-20261201T000000Z")
    with open_views(ws) as opened:
        yield opened


def one(connection: Connection, sql: str) -> object:
    return run_query(connection, sql).to_pylist()[0]["x"]


def test_promoted_and_local_rows_do_not_mix(connection: Connection) -> None:
    for view, run in (
        ("observations", "synthetic-20261130T224500Z"),
        ("local_observations", "synthetic-20261201T000000Z"),
    ):
        assert run_query(connection, f"SELECT DISTINCT run_id FROM {view}").to_pylist() == [{"run_id": run}]


def test_the_count_that_the_readme_asks_for(connection: Connection) -> None:
    where = "FROM observations WHERE lane = 'cpu' AND status = 'ok'"
    assert isinstance(rows := one(connection, f"SELECT count(*) AS x {where}"), int)
    assert rows >= 90
    assert isinstance(cells := one(connection, f"SELECT count(DISTINCT (cell_id, repeat)) AS x {where}"), int)
    assert 90 <= cells < rows


def test_routing_has_only_routed_rows(connection: Connection) -> None:
    assert one(connection, "SELECT count(*) AS x FROM routing WHERE policy IS NULL") == 0
    assert one(connection, "SELECT count(DISTINCT policy) AS x FROM routing") == 5


def test_times_are_utc_and_types_come_from_the_schema(connection: Connection) -> None:
    assert str(one(connection, "SELECT min(started_at) AS x FROM runs")) == "2026-11-30 22:45:00"
    known = {(view, column): kind for view, column, kind, _ in described(STORED)}
    for view in STORED:
        for row in run_query(connection, f"DESCRIBE {view.name}").to_pylist():
            assert known[view.name, row["column_name"]] == row["column_type"]


def test_views_are_typed_without_any_row(tmp_path: Path) -> None:
    with open_views(Workspace(tmp_path)) as empty:
        assert run_query(empty, "SELECT tok_s_per_gpu, vram_peak_gib FROM observations").num_rows == 0
        assert one(empty, "SELECT sum(tok_s_per_gpu) AS x FROM latest_observations") is None


def test_every_column_is_described() -> None:
    undescribed = [row[:2] for row in described(STORED) if row[0] == "observations" and not row[3]]
    assert undescribed == []
    assert {row[1] for row in described(STORED) if row[0] == "observations"} == set(Observation.model_fields)


def test_missing_stays_missing(connection: Connection) -> None:
    assert one(connection, "SELECT count(*) AS x FROM observations WHERE tok_s_per_gpu IS NOT NULL") == 0


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("DROP TABLE observations", "may only read, this is DROP"),
        ("CREATE TABLE y AS SELECT 1", "may only read"),
        ("COPY (SELECT 1) TO '/tmp/stolen.csv'", "may only read, this is COPY"),
        ("SET memory_limit = '1TB'", "may only read"),
        ("ATTACH '/tmp/other.db'", "may only read"),
        ("INSTALL httpfs", "may only read"),
        ("SELECT 1; SELECT 2", "exactly one statement"),
        ("", "exactly one statement"),
        ("SELEC 1", "cannot be read"),
        ("SELECT * FROM nothing_such", "does not exist"),
        ("WITH n AS (DELETE FROM runs RETURNING *) SELECT * FROM n", "read-only"),
        ("EXPLAIN ANALYZE DELETE FROM runs", "read-only"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM glob('/*')", "disabled by configuration"),
        ("SELECT * FROM read_csv('https://example.org/x.csv')", "disabled by configuration"),
        ("SELECT * FROM secret_of_python", "does not exist"),
    ],
)
def test_a_query_that_does_more_than_read_is_refused(
    connection: Connection, sql: str, complaint: str
) -> None:
    secret_of_python = duckdb.sql("SELECT 1")
    with pytest.raises(InputError, match=complaint):
        run_query(connection, sql)
    assert secret_of_python is not None
    assert one(connection, "SELECT count(*) AS x FROM runs") == 2


@pytest.mark.parametrize(
    ("sql", "next_step"),
    [
        (
            "SELECT * FROM runz",
            'Did you mean "runs"; weighbridge query --describe lists views and columns',
        ),
        ("SELECT run_idd FROM runs", "Candidate bindings: "),
        ("SELEC 1", "weighbridge query --describe lists views and columns"),
        ("SELECT 1; SELECT 2", "one at a time"),
    ],
)
def test_a_query_with_a_typo_is_told_what_comes_next(
    connection: Connection, sql: str, next_step: str
) -> None:
    with pytest.raises(InputError) as raised:
        run_query(connection, sql)
    assert raised.value.next_step is not None
    assert next_step in raised.value.next_step


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        "SELECT count(*) FROM range(1000000000000)",
    ],
)
def test_a_query_that_never_ends_is_stopped(connection: Connection, sql: str) -> None:
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"longer than 0\.3 s"):
        run_query(connection, sql, limit_s=0.3)
    assert time.monotonic() - begun < 3
    assert one(connection, "SELECT 1 AS x") == 1


@pytest.mark.parametrize(
    "sql", ["FROM runs", "DESCRIBE runs", "SHOW TABLES", "EXPLAIN SELECT 1", "SUMMARIZE runs", "VALUES (1)"]
)
def test_reading_statements_of_all_kinds_work(connection: Connection, sql: str) -> None:
    assert run_query(connection, sql).num_rows > 0


def test_a_row_cap_stops_reading(connection: Connection) -> None:
    assert run_query(connection, "SELECT * FROM range(1000000000)", max_rows=12).num_rows == 12
    assert run_query(connection, "SELECT * FROM range(3)", max_rows=12).num_rows == 3


def test_only_named_views_are_loaded() -> None:
    assert named_in("SELECT policy FROM ROUTING", STORED) == ["routing"]
    assert len(named_in("SHOW TABLES", STORED)) == len(STORED)


def test_a_newer_run_speaks_and_the_older_stays(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write_synthetic_run(ws, promoted=True, run_id="synthetic-20261130T224500Z")
    write_synthetic_run(ws, promoted=True, run_id="synthetic-20261201T000000Z", started_days_later=1)
    with open_views(ws) as opened:
        assert one(opened, "SELECT count(DISTINCT run_id) AS x FROM observations") == 2
        assert (
            one(opened, "SELECT string_agg(DISTINCT run_id) AS x FROM latest_observations")
            == "synthetic-20261201T000000Z"
        )


def test_a_discarded_run_stays_visible_with_its_reason(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    discard(ws, write_synthetic_run(ws, promoted=True), "a neighbour used the machine")
    with open_views(ws) as opened:
        assert one(opened, "SELECT count(*) AS x FROM observations") == 0
        assert one(opened, "SELECT reason AS x FROM corrections") == "a neighbour used the machine"


def test_views_open_within_a_second(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write_synthetic_run(ws, promoted=True)
    begun = time.process_time()
    open_views(ws).close()
    assert time.process_time() - begun < 1.0


def test_numbers_are_plain_numbers(connection: Connection) -> None:
    (row,) = run_query(connection, "SELECT sum(repeats) AS total, 1.5 AS half FROM runs").to_pylist()
    assert row == {"total": 6, "half": 1.5}
    assert [type(value) for value in row.values()] == [int, float]
