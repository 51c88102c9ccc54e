"""`weighbridge query`: SQL over the documented views."""

from __future__ import annotations

import csv
import io
import json
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.analysis.views import ALL_VIEWS, describe, query_arrow
from pipeline.errors import InputError
from pipeline.paths import Workspace

Format = Literal["table", "csv", "json"]
MISSING = "n/a"


class QueryCommand(BaseModel):
    """Ask the data one reading SQL statement; --describe lists the views and their columns."""

    sql: CliPositionalArg[str] = Field(
        "", description="one SELECT, WITH, DESCRIBE or EXPLAIN statement (DuckDB)"
    )
    format: Format = Field("table", description="table, csv or json")
    describe: bool = Field(False, description="list the views and their columns, and ask nothing")
    max_rows: int | None = Field(None, ge=1, description="stop after this many rows")
    limit_s: float = Field(10.0, gt=0, description="stop the statement after this many seconds")

    def cli_cmd(self) -> None:
        """Print the answer, or the description."""
        if self.describe:
            print(description() if self.format == "table" else _rendered(_described_rows(), self.format))
            return
        if not self.sql.strip():
            raise InputError("There is no statement to run.", next_step="weighbridge query --describe")
        found = query_arrow(Workspace(), self.sql, self.limit_s, self.max_rows)
        print(_rendered(found.to_pylist(), self.format, found.column_names))


def description() -> str:
    """Views and columns as text, generated from the schemas."""
    lines: list[str] = []
    columns = describe()
    for view in ALL_VIEWS:
        lines += [f"{view.name}: {view.description}"]
        lines += [
            f"  {name:<26} {kind:<10} {text}" for owner, name, kind, text in columns if owner == view.name
        ]
        lines += [""]
    return "\n".join(lines).rstrip()


def _described_rows() -> list[dict[str, Any]]:
    names = ("view", "column", "type", "description")
    return [dict(zip(names, row, strict=True)) for row in describe()]


def _rendered(rows: list[dict[str, Any]], form: Format, names: list[str] | None = None) -> str:
    columns = names or list(rows[0])
    if form == "json":
        return json.dumps(rows, indent=1, default=str)
    return _csv(columns, rows) if form == "csv" else _table(columns, rows)


def _csv(columns: list[str], rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _table(columns: list[str], rows: list[dict[str, Any]]) -> str:
    cells = [[_shown(row[name]) for name in columns] for row in rows]
    widths = [max(map(len, [name, *(line[i] for line in cells)])) for i, name in enumerate(columns)]
    numeric = [any(isinstance(row[name], (int, float)) for row in rows) for name in columns]
    lines = [columns, ["-" * width for width in widths], *cells]
    return "\n".join(_aligned(line, widths, numeric) for line in lines)


def _aligned(line: list[str], widths: list[int], numeric: list[bool]) -> str:
    parts = [
        text.rjust(width) if right else text.ljust(width)
        for text, width, right in zip(line, widths, numeric, strict=True)
    ]
    return "  ".join(parts).rstrip()


def _shown(value: Any) -> str:
    if value is None:
        return MISSING
    return f"{value:.6g}" if isinstance(value, float) else str(value)
