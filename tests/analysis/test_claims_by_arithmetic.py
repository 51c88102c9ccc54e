"""Verdicts that the committed arithmetic gives; a claim that leaves one needs its pages read again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.analysis.verdicts import decide
from pipeline.paths import REPOSITORY
from pipeline.schemas.claim import Verdict
from tests.analysis.made import TODAY, with_claims_of_the_repository

DECIDED = {
    "M02": "fails",
    "M03": "ill-posed",
    "M04": "depends",
    "M06": "fails",
    "M07": "depends",
    "M08": "fails",
    "M12": "fails",
    "M14": "holds",
    "M15": "ill-posed",
    "M18": "holds",
    "M20": "depends",
    "M21": "ill-posed",
    "R02": "ill-posed",
    "R03": "depends",
    "R05": "fails",
    "R09": "depends",
    "R10": "fails",
    "R12": "depends",
    "R13": "depends",
    "R15": "depends",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    root: Path = tmp_path_factory.mktemp("arithmetic")
    ws = with_claims_of_the_repository(root)
    lane = Path("data") / "computed" / "derived"
    shutil.copytree(REPOSITORY / lane, root / lane)
    return {each.id: each for each in decide(ws, today=TODAY)}


@pytest.mark.parametrize(("claim", "verdict"), DECIDED.items())
def test_arithmetic_decides(found: dict[str, Verdict], claim: str, verdict: str) -> None:
    assert found[claim].verdict == verdict
    assert found[claim].lane == "derived"
    assert found[claim].decided_on is not None


def test_the_numbers_that_refute_by_themselves(found: dict[str, Verdict]) -> None:
    values = {claim: found[claim].value for claim in ("M06", "M12", "M15", "M16", "R02")}
    assert values["M06"] == pytest.approx(12 / 50)
    assert values["M12"] == 35
    assert values["M15"] == pytest.approx(3)
    assert values["M16"] == pytest.approx(37.8432)
    assert values["R02"] == 135


def test_arithmetic_never_decides_what_a_gpu_must(found: dict[str, Verdict]) -> None:
    assert {found[claim].verdict for claim in ("M09", "M10", "M17", "M19")} == {"not measured"}
