"""A page's own tables: columns as asked, numbers as the page writes them, missing as n/a."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.question import TableSpec
from pipeline.schemas.words import Lane
from pipeline.site.facts import QueryShape
from pipeline.site.tablehtml import collect_table, table_html
from tests.fixtures.rows import computed_manifest

COMPUTED: dict[Lane, ComputedManifest] = {"derived": computed_manifest()}
SPEC: dict[str, Any] = {
    "title": "What fits on one card",
    "lane": "derived",
    "columns": {
        "model": {"title": "Model", "format": "text"},
        "weights_gib": {"title": "Weights", "unit": "GiB"},
    },
    "sql": "SELECT model, weights_gib FROM fit",
}


def html(frame: pd.DataFrame) -> str:
    spec = TableSpec.model_validate(SPEC)
    return table_html("fits", spec, collect_table(spec, lambda _: frame, {}, COMPUTED), spec.title, spec.caption)


def test_heads_have_units_and_missing_is_not_zero() -> None:
    made = html(pd.DataFrame({"model": ["llama <b>", "qwen"], "weights_gib": [14.96, None]}))
    assert "<th>Model</th>" in made
    assert "Weights (GiB)" in made
    assert "15.0" in made
    assert "n/a" in made
    assert "llama &lt;b&gt;" in made
    assert "derived · 1 Dec 2026 · numpy 2.4.6" in made
    assert "weighbridge query" in made


def test_a_table_without_rows_says_that_nothing_was_measured() -> None:
    assert "Not measured yet" in html(pd.DataFrame({"model": [], "weights_gib": []}))


def test_a_query_without_a_column_of_the_table_is_refused() -> None:
    with pytest.raises(QueryShape, match="does not give weights_gib"):
        html(pd.DataFrame({"model": ["llama"]}))
