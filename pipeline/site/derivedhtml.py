"""The derived lane on its page: its formulas from their register, and the public logs it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from pipeline.derived import capacity, cost, floors, fragmentation, memory, pools
from pipeline.derived.register import FORMULAS, Formula
from pipeline.site.facts import Rows
from pipeline.site.html import aligned, one_block, table
from pipeline.site.numbers import written
from pipeline.site.words import NO_VALUE, label

PARTS = (memory, pools, capacity, fragmentation, floors, cost)
"""Importing a module enters its formulas."""
LOGS = "SELECT * FROM kv_cases ORDER BY engine, name"


def arithmetic_list() -> str:
    """Every formula of the lane: what it gives, how, in which unit, and where the rule is from."""
    heads = ("Gives", "Unit", "Formula", "Source")
    return one_block(table(heads, [_cells(entry) for entry in FORMULAS.values()]))


def log_check(rows: Rows) -> str:
    """Public logs of KV pools with the error of the arithmetic on each."""
    frame = rows(LOGS)
    if frame.empty:
        return one_block("<p>Not computed yet: <code>weighbridge run derived</code></p>")
    heads = ("Log", "Engine", "Tokens logged", "Error", "Pool logged (GiB)", "Error", "Source")
    columns = [
        [_name(row) for row in frame.to_dict("records")],
        [label(each) for each in frame["engine"]],
        aligned([_number(each, "integer") for each in frame["logged_tokens"]]),
        aligned([_percent(each) for each in frame["tokens_error"]]),
        aligned([_number(each, "number") for each in frame["logged_pool_gib"]]),
        aligned([_percent(each) for each in frame["pool_error"]]),
        [escape(each) for each in frame["source"]],
    ]
    return one_block(table(heads, list(zip(*columns, strict=True)), range(2, 6)))


def _cells(entry: Formula) -> list[str]:
    named = f'<span id="arithmetic-{entry.name.replace("_", "-")}">{escape(entry.meaning.rstrip("."))}</span>'
    return [named, escape(entry.unit), f"<code>{escape(entry.expression)}</code>", escape(entry.source)]


def _name(row: Mapping[Any, Any]) -> str:
    hybrid = " (hybrid: its tokens are no rate)" if row["hybrid"] else ""
    return escape(f"{row['name']}{hybrid}")


def _number(value: Any, style: Any) -> str:
    return NO_VALUE if pd.isna(value) else written(float(value), style)


def _percent(value: Any) -> str:
    return NO_VALUE if pd.isna(value) else f"{value * 100:+.2f} %"
