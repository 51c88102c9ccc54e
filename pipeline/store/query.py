"""Running one read-only statement on a locked connection, within a time limit."""

from __future__ import annotations

import threading
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.errors import InputError

_READING = ("SELECT", "EXPLAIN")
# After these a query reaches no file, no network, no variable of this process and no setting.
_LOCKS = (
    "SET memory_limit = '1GB'",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Lock a connection for good: queries see its tables and nothing else."""
    for statement in _LOCKS:
        connection.execute(statement)


def run_query(
    connection: duckdb.DuckDBPyConnection, sql: str, *, limit_s: float = 10.0, max_rows: int | None = None
) -> Any:
    """The result of one reading statement, as an Arrow table.

    Args:
        connection: made by `open_views`.
        sql: one SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN.
        limit_s: seconds after which the statement is interrupted.
        max_rows: rows after which reading stops; all if null.

    Raises:
        InputError: the statement is wrong, writes, reads a file, or runs over its time.
    """
    _check_reads_only(sql)
    timer = threading.Timer(limit_s, connection.interrupt)
    # The type of a statement is not enough: a WITH clause may hold an INSERT.
    connection.execute("BEGIN TRANSACTION READ ONLY")
    timer.start()
    try:
        return _fetch(connection, sql, max_rows)
    except duckdb.InterruptException as error:
        raise InputError(
            f"the query took longer than {limit_s:g} s and was stopped",
            where=sql,
            next_step="ask for fewer rows, or join on more columns",
        ) from error
    except duckdb.Error as error:
        raise InputError(
            f"the query cannot be run: {_first_line(error)}", where=sql, next_step=_nearest(error)
        ) from error
    finally:
        timer.cancel()
        connection.execute("ROLLBACK")


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str, max_rows: int | None) -> Any:
    reader: Any = connection.sql(sql).to_arrow_reader(10_000)
    return _plain_numbers(_read(reader, max_rows))


def _read(reader: Any, max_rows: int | None) -> Any:
    if max_rows is None:
        return reader.read_all()
    batches, rows = [], 0
    while rows < max_rows and (batch := next(reader, None)) is not None:
        batches.append(batch)
        rows += batch.num_rows
    return pa.Table.from_batches(batches, reader.schema).slice(0, max_rows)


def _plain_numbers(table: Any) -> Any:
    """Decimals (a literal 1.5, a sum of integers) become the numbers that everything else is made of."""
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            kind = float if field.type.scale else int
            values = [None if value is None else kind(value) for value in table.column(place).to_pylist()]
            typed = pa.array(values, type=pa.float64() if kind is float else pa.int64())
            table = table.set_column(place, field.name, typed)
    return table


def _check_reads_only(sql: str) -> None:
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise InputError(
            f"the query cannot be read: {_first_line(error)}", where=sql, next_step=_nearest(error)
        ) from error
    if len(statements) != 1:
        raise InputError(
            f"give exactly one statement, these are {len(statements)}",
            where=sql,
            next_step='one at a time, as in: weighbridge query "SELECT * FROM claims"',
        )
    kind = statements[0].type.name
    if kind not in _READING:
        raise InputError(
            f"a query may only read, this is {kind}",
            where=sql,
            next_step="use SELECT, WITH, DESCRIBE or EXPLAIN",
        )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _nearest(error: Exception) -> str:
    """What DuckDB proposes below its first line, and where all names are."""
    proposed = (line.strip() for line in str(error).splitlines()[1:])
    hint = next(
        (line for line in proposed if line.startswith(("Did you mean", "Candidate")) and "pg_" not in line),
        "",
    )
    dictionary = "weighbridge query --describe lists views and columns"
    return f"{hint.rstrip('?')}; {dictionary}" if hint else dictionary
