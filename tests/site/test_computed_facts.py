"""Numbers of computed lanes on a page: whose day, whose versions."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pipeline.paths import Workspace
from pipeline.schemas.question import FactSpec
from pipeline.site.facts import Fact, measure
from pipeline.site.loading import load
from tests.analysis.made import TODAY, checkout
from tests.analysis.test_computed_evidence import computed


def fact_of(ws: Workspace, lane: str, sql: str) -> Fact:
    data = load(ws, TODAY)
    spec = FactSpec.model_validate({"label": "weights", "lane": lane, "unit": "GiB", "sql": sql})
    return measure("weights", spec, data.rows, data.runs, None, data.computed)


def test_a_fact_of_a_computed_lane_wears_its_day_and_versions(tmp_path: Path) -> None:
    ws = checkout(tmp_path)
    computed(ws, "derived")
    fact = fact_of(ws, "derived", "SELECT 131.0 AS value, 130 AS low, 132 AS high")
    assert (fact.text, fact.interval) == ("131\xa0GiB", "130 to 132\xa0GiB")
    assert (fact.measured_on, fact.versions) == (date(2026, 11, 20), "numpy 2.4, tables 0.9.0")
    assert load(ws, TODAY).filled_on("derived") == date(2026, 11, 20)
    assert load(ws, TODAY).filled_on("gpu") is None


def test_a_published_row_states_its_own_day_and_versions(tmp_path: Path) -> None:
    ws = checkout(tmp_path)
    computed(ws, "published")
    row = "SELECT 1.2 AS value, 4 AS n, DATE '2025-12-05' AS dated, 'vLLM 0.11' AS versions"
    fact = fact_of(ws, "published", row)
    assert (fact.measured_on, fact.versions, fact.value.n) == (date(2025, 12, 5), "vLLM 0.11", 4)
