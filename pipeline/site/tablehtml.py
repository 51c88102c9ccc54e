"""A page's own tables: a query's rows, written as the page asks, with where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.question import ColumnSpec, TableSpec
from pipeline.schemas.words import Lane
from pipeline.site.basis import Basis, of_computed, of_run, origin_words
from pipeline.site.facts import QueryShape, Rows, newest_run, reproduce
from pipeline.site.html import aligned, attribute, one_block, table
from pipeline.site.numbers import written
from pipeline.site.words import LANE_BADGES, NO_VALUE, label


@dataclass(frozen=True)
class TableRows:
    """Rows of a table, and where they come from."""

    frame: pd.DataFrame
    run: Manifest | None
    basis: Basis | None


def collect_table(
    spec: TableSpec, rows: Rows, runs: Mapping[str, Manifest], computed: Mapping[Lane, ComputedManifest]
) -> TableRows:
    """Ask the views for a table's rows.

    Raises:
        QueryShape: the query lacks a column that the table shows.
    """
    asked = rows(spec.sql)
    missing = [name for name in spec.columns if name not in asked.columns]
    if missing:
        raise QueryShape(f"the query of the table does not give {', '.join(missing)}")
    run_id, frame = newest_run(asked, spec.lane) if "run_id" in asked.columns else (None, asked)
    run = runs.get(run_id) if run_id else None
    return TableRows(frame, run, of_run(run) or of_computed(computed.get(spec.lane)))


def table_html(name: str, spec: TableSpec, rows: TableRows, title: str, caption: str) -> str:
    """The table with its finding above and its origin below; a line of words where there is no row."""
    anchor = f'<figure class="wb-chart wb-rows" id="table-{name.replace("_", "-")}">'
    if rows.frame.empty:
        return one_block(
            f"{anchor}<figcaption><b>Not measured yet</b><span>{caption}</span></figcaption></figure>"
        )
    return one_block(
        f"{anchor}<figcaption><b>{title}</b><span>{caption}</span></figcaption>"
        f"{_body(spec, rows.frame)}{_origin(spec, rows)}</figure>"
    )


def _body(spec: TableSpec, frame: pd.DataFrame) -> str:
    heads = [f"{column.title} ({column.unit})" if column.unit else column.title for column in spec.columns.values()]
    columns = [_cells(frame[name], column) for name, column in spec.columns.items()]
    numeric = [i for i, column in enumerate(spec.columns.values()) if column.format != "text"]
    lined = [aligned(cells) if i in numeric else cells for i, cells in enumerate(columns)]
    return table(heads, list(zip(*lined, strict=True)), numeric)


def _cells(values: Any, column: ColumnSpec) -> list[str]:
    return [_cell(value, column) for value in values]


def _cell(value: Any, column: ColumnSpec) -> str:
    if pd.isna(value):
        return NO_VALUE
    if column.format == "text":
        return attribute(label(value) if isinstance(value, str) else str(value))
    if column.format == "year":
        return str(int(value))
    return written(float(value), column.format)


def _origin(spec: TableSpec, rows: TableRows) -> str:
    command = attribute(reproduce(spec.sql, rows.run))
    when = f"{LANE_BADGES[spec.lane]} · {origin_words(rows.basis)}"
    return (
        f'<details class="wb-data"><summary>{when} · reproduce</summary><p><code>{command}</code></p></details>'
    )
