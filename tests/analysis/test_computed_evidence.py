"""Evidence on lanes that are computed: whose date, versions, interval and precedence count."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipeline.paths import Workspace
from pipeline.schemas.claim import Verdict
from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.words import Lane
from pipeline.store.computed import lane_folder
from tests.analysis.made import TODAY, checkout, claim_file, verdict

COMPUTED = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return checkout(tmp_path)


def computed(ws: Workspace, lane: Lane) -> None:
    """A lane that was computed, with the packages it used."""
    manifest = ComputedManifest(
        schema_version=1,
        lane=lane,
        inputs={"prices": "a"},
        inputs_sha256="0" * 64,
        computed_at=COMPUTED,
        duration_s=1.0,
        command=f"weighbridge run {lane}",
        versions={"tables": "0.9.0", "numpy": "2.4"},
        tables={},
    )
    lane_folder(ws, lane).mkdir(parents=True)
    (lane_folder(ws, lane) / "manifest.json").write_text(manifest.model_dump_json())


def block(lane: Lane, kind: str, rows: str, *, columns: str = "point, value", threshold: float = 1.8) -> str:
    return f"""
    [[evidence]]
    lane = "{lane}"
    kind = "{kind}"
    quantity = "tokens a second, one engine over the other"
    sql = "SELECT * FROM (VALUES {rows}) AS t({columns})"
    [evidence.rule]
    when = "at least"
    threshold = {threshold}
    """


def decided(ws: Workspace, *blocks: str, lanes: str, today: date = TODAY) -> Verdict:
    claim_file(ws, "\n".join(blocks), lanes=lanes)
    return verdict(ws, today)


def test_a_derived_verdict_has_the_day_and_the_versions_of_its_manifest(ws: Workspace) -> None:
    computed(ws, "derived")
    found = decided(ws, block("derived", "arithmetic", "('70B at 16 bits', 2.5)"), lanes='["derived"]')
    assert (found.verdict, found.lane, found.freshness) == ("holds", "derived", "current")
    assert (found.decided_on, found.versions) == (date(2026, 11, 20), "numpy 2.4, tables 0.9.0")
    assert (found.low, found.high, found.n_independent) == (None, None, 1)


def test_a_lane_that_was_not_computed_decides_nothing(ws: Workspace) -> None:
    found = decided(ws, block("derived", "arithmetic", "('70B', 2.5)"), lanes='["derived"]')
    assert found.verdict == "not measured"
    assert "the evidence has no date" in (found.note or "")


def test_a_computed_row_brings_its_own_interval(ws: Workspace) -> None:
    computed(ws, "modelled")
    rows = block("modelled", "absolute", "('8B', 2.0, 1.5, 2.6)", columns="point, value, low, high")
    found = decided(ws, rows, lanes='["modelled"]')
    assert (found.value, found.low, found.high) == (2.0, 1.5, 2.6)


def test_published_rows_are_as_old_as_their_measurement(ws: Workspace) -> None:
    computed(ws, "published")
    rows = "('70B', 1.2, DATE '2025-12-05', 'vLLM 0.11'), ('70B', 1.3, DATE '2026-11-05', 'vLLM 0.12')"
    found = decided(
        ws,
        block("published", "engine_vs_engine", rows, columns="point, value, dated, versions"),
        lanes='["published"]',
    )
    assert (found.verdict, found.decided_on, found.freshness) == ("fails", date(2025, 12, 5), "stale")
    assert found.versions == "vLLM 0.11, vLLM 0.12"


def test_published_rows_without_a_day_are_not_dated_by_the_day_of_computing(ws: Workspace) -> None:
    computed(ws, "published")
    found = decided(ws, block("published", "engine_vs_engine", "('70B', 1.2)"), lanes='["published"]')
    assert found.verdict == "not measured"
    assert "published rows need a column dated" in (found.note or "")


@pytest.mark.parametrize(("sweeps", "interval"), [(7, False), (8, True)])
def test_fewer_than_eight_sweeps_have_no_interval(ws: Workspace, sweeps: int, interval: bool) -> None:
    computed(ws, "published")
    rows = ", ".join(f"('70B', {1 + i / 10}, DATE '2026-11-05')" for i in range(sweeps))
    found = decided(
        ws,
        block("published", "engine_vs_engine", rows, columns="point, value, dated"),
        lanes='["published"]',
    )
    assert found.n_independent == sweeps
    assert (found.low is not None, found.high is not None) == (interval, interval)
    assert found.value == pytest.approx(1 + (sweeps - 1) / 20)
