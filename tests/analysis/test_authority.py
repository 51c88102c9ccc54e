"""A lane that has no authority over a question does not get to answer it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import CheckFailed, InputError
from pipeline.paths import Workspace
from tests.analysis.made import RATIO, batch, checkout, claim_file, promoted, verdict
from tests.fixtures.rows import observation

LANES = '["gpu", "published", "modelled", "simulated", "derived", "cpu"]'


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return checkout(tmp_path)


@pytest.mark.parametrize(
    ("lane", "kind", "reason"),
    [
        ("modelled", "engine_vs_engine", "names the faster engine rightly in too few"),
        ("modelled", "memory_breakdown", "pads a constant"),
        ("cpu", "absolute", "says nothing about levels"),
        ("cpu", "engine_vs_engine", "no authority"),
        ("cpu", "memory_breakdown", "no authority"),
        ("simulated", "absolute", "single engine's speed"),
        ("derived", "absolute", "no authority"),
        ("published", "mechanism", "no authority"),
    ],
)
def test_a_lane_without_authority_is_refused(ws: Workspace, lane: str, kind: str, reason: str) -> None:
    evidence = RATIO.replace('lane = "cpu"', f'lane = "{lane}"').replace('kind = "sign"', f'kind = "{kind}"')
    claim_file(ws, evidence, lanes=LANES)
    with pytest.raises(CheckFailed, match=reason) as raised:
        verdict(ws)
    assert "data/claims/R06.toml, evidence block 1" in raised.value.message


def test_a_measured_lane_needs_a_noise_band(ws: Workspace) -> None:
    claim_file(ws, RATIO.partition("    [evidence.rule.noise]")[0])
    with pytest.raises(CheckFailed, match="decides only against a noise band"):
        verdict(ws)


def test_a_query_keeps_to_its_lane(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("WHERE lane = 'cpu' AND", "WHERE"))
    with pytest.raises(CheckFailed, match="does not keep to its lane"):
        verdict(ws)


def test_published_before_gpu_is_refused(ws: Workspace) -> None:
    gpu = RATIO.replace("cpu", "gpu")
    published = gpu.replace('lane = "gpu"', 'lane = "published"')
    claim_file(ws, published + gpu)
    with pytest.raises(CheckFailed, match="gpu goes before published"):
        verdict(ws)


def test_a_lane_that_the_claim_does_not_list_is_refused(ws: Workspace) -> None:
    claim_file(ws, lanes='["gpu"]')
    with pytest.raises(InputError, match="evidence of lanes that are not in `lanes`: cpu"):
        verdict(ws)


# Policies by latency on a CPU: only where an unloaded miss takes at least three hits.


def by_latency(ws: Workspace, miss_ms: float | None) -> None:
    claim_file(ws, RATIO.replace('kind = "sign"', 'kind = "policy_latency"'))
    rows = batch([10.0] * 3, {4: [20.0] * 3}, twin=10.1)
    if miss_ms is not None:
        for kind, ttft in (("miss-1024-unshared", miss_ms), ("hit-1024-shared", 30.0)):
            rows.append(
                observation(experiment="miss_cost", traffic=kind, ttft_p50_ms=ttft, cell_id=f"{ttft:016.0f}")
            )
    promoted(ws, rows)


def test_policies_by_latency_where_a_miss_is_dear(ws: Workspace) -> None:
    by_latency(ws, 90.0)
    assert verdict(ws).verdict == "fails"


@pytest.mark.parametrize(
    ("miss_ms", "measured"), [(89.0, "it is 3"), (60.0, "it is 2"), (None, "it is not measured")]
)
def test_policies_by_latency_where_a_miss_is_cheap(
    ws: Workspace, miss_ms: float | None, measured: str
) -> None:
    by_latency(ws, miss_ms)
    found = verdict(ws)
    assert found.verdict == "not measured"
    assert f"an unloaded miss of at least 3 hits, on wb-small {measured}" in (found.note or "")
