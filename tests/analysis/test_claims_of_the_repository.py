"""The claim files that the site is built from, on a made-up run that tells a known story."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis.claims import load_claims, rule_hash
from pipeline.analysis.verdicts import MECHANISM_ONLY, decide
from pipeline.analysis.views import describe, query_arrow
from pipeline.paths import Workspace
from pipeline.schemas.claim import Verdict
from pipeline.schemas.observation import Observation
from tests.analysis.made import TODAY, with_claims_of_the_repository
from tests.fixtures.synthetic_run import write_synthetic_run

IDS = [f"M{n:02}" for n in range(1, 26)] + [f"R{n:02}" for n in range(1, 20)]
COLUMNS = {
    *("id", "topic", "verdict", "freshness", "lane", "value", "low", "high"),
    *("n_independent", "decided_on", "rule_hash"),
}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return with_claims_of_the_repository(tmp_path)


def verdicts(ws: Workspace) -> dict[str, Verdict]:
    return {each.id: each for each in decide(ws, today=TODAY)}


def test_all_44_claims_are_there(ws: Workspace) -> None:
    assert [claim.id for claim in load_claims(ws)] == IDS
    assert len({rule_hash(claim) for claim in load_claims(ws)}) > 6


def test_without_data_only_words_decide(ws: Workspace) -> None:
    found = verdicts(ws)
    assert {each.id for each in found.values() if each.verdict == "reported"} == {
        *("M23", "M24", "M25", "R11", "R16", "R17", "R18")
    }
    assert found["R19"].verdict == "definition"
    assert {each.verdict for each in found.values()} == {"reported", "definition", "not measured"}
    assert all("would be settled by" in (e.note or "") for e in found.values() if e.verdict == "not measured")


def test_the_verdicts_that_a_cpu_run_decides(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=True)
    decided = {each.id: each.verdict for each in decide(ws, today=TODAY) if each.lane}
    assert decided == {
        "M01": "fails",
        "M05": "fails",
        "M13": "fails",
        "M22": "fails",
        "R01": "depends",
        "R06": "fails",
    }
    found = verdicts(ws)
    assert found["R01"].dimension == "how much of the prompts is shared"
    assert all((found[each].note or "").startswith(MECHANISM_ONLY) for each in decided)
    assert all(found[each].n_independent == 3 for each in decided)


def test_a_local_run_decides_nothing(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=False)
    assert not [each.id for each in decide(ws, today=TODAY) if each.lane]


def memory_spikes(row: Observation) -> dict[str, Any]:
    return {"rss_peak_gib": 2.6} if row.experiment == "burst" else {}


def nothing_is_recomputed(row: Observation) -> dict[str, Any]:
    return {"recomputed_tokens": 0} if row.recomputed_tokens else {}


def latency_ignores_load(row: Observation) -> dict[str, Any]:
    flat = {"batch": {"tpot_p50_ms": 10.0}, "kv_pressure": {"e2e_p50_ms": 900.0}}
    return flat.get(row.experiment, {})


def routing_never_helps(row: Observation) -> dict[str, Any]:
    return {"prefix_hit_rate": 0.6} if row.experiment == "routing_memory" else {}


@pytest.mark.parametrize(
    ("change", "claim", "verdict"),
    [
        (memory_spikes, "M01", "holds"),
        (memory_spikes, "M13", "depends"),
        (nothing_is_recomputed, "M05", "holds"),
        (latency_ignores_load, "R06", "holds"),
        (latency_ignores_load, "M22", "holds"),
        (routing_never_helps, "R01", "fails"),
    ],
)
def test_a_verdict_turns_when_the_data_turn(ws: Workspace, change: Any, claim: str, verdict: str) -> None:
    write_synthetic_run(ws, promoted=True, change=change)
    assert verdicts(ws)[claim].verdict == verdict


def test_the_view_of_claims_has_its_published_columns(ws: Workspace) -> None:
    write_synthetic_run(ws, promoted=True)
    table = query_arrow(ws, "SELECT * FROM claims")
    assert table.num_rows == 44
    assert set(table.column_names) >= COLUMNS
    assert table.column_names == [column for view, column, _, _ in describe() if view == "claims"]
    assert all(
        text for view, _, _, text in describe() if view in ("claims", "noise", "exchange", "runs", "requests")
    )
