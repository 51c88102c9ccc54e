"""Columns of stored tables, generated from the schemas so that each is defined once."""

from __future__ import annotations

import types
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa

from pipeline.schemas.base import Strict

_ARROW: dict[type, Any] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    datetime: pa.timestamp("us"),
    date: pa.date32(),
}
_SQL = {
    str: "VARCHAR",
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    datetime: "TIMESTAMP",
    date: "DATE",
}


@dataclass(frozen=True)
class Column:
    """One column: its name, Python type without null, and what it means."""

    name: str
    kind: type
    description: str

    @property
    def sql_type(self) -> str:
        """The type as DuckDB names it; times are UTC."""
        return _SQL[self.kind]

    @property
    def arrow(self) -> Any:
        """The column as an Arrow field."""
        return pa.field(self.name, _ARROW[self.kind])


def columns_of(model: type[Strict], skip: Collection[str] = ()) -> list[Column]:
    """The scalar columns of a schema, in its order, without those to skip."""
    return [
        Column(name, _scalar(field.annotation), field.description or "")
        for name, field in model.model_fields.items()
        if name not in skip
    ]


def arrow_schema(columns: list[Column]) -> Any:
    """An Arrow schema of these columns."""
    return pa.schema([column.arrow for column in columns])


def arrow_table(columns: list[Column], rows: list[dict[str, Any]]) -> Any:
    """An Arrow table with exactly these columns, typed even when there is no row."""
    arrays = [
        pa.array([_plain(row.get(column.name)) for row in rows], type=_ARROW[column.kind])
        for column in columns
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


def _plain(value: Any) -> Any:
    """Times lose their zone here: every stored time is UTC."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _scalar(annotation: Any) -> type:
    origin = get_origin(annotation)
    if origin is Literal:
        return type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        (inner,) = [each for each in get_args(annotation) if each is not type(None)]
        return _scalar(inner)
    if annotation in _ARROW:
        return annotation  # type: ignore[no-any-return]
    raise TypeError(f"{annotation} is no scalar column type")
