"""The verdict engine on values that can be checked by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.schemas.observation import Observation
from tests.analysis.made import RATIO, batch, checkout, claim_file, promoted, repeated, verdict

SLOWER = {4: [20.0, 22.0, 21.0], 16: [40.0, 42.0, 41.0]}
ONE = [10.0, 10.0, 10.0]


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = checkout(tmp_path)
    claim_file(ws)
    return ws


def test_every_point_against_the_claim_fails_it(ws: Workspace) -> None:
    promoted(ws, batch(ONE, SLOWER, twin=10.2))
    found = verdict(ws)
    assert (found.verdict, found.lane, found.freshness) == ("fails", "cpu", "current")
    assert (found.value, found.low, found.high, found.n_independent) == (2.1, 2.0, 2.2, 3)
    assert found.points == 2
    assert found.quantity == "TPOT over TPOT at 1 in flight (4 in flight)"
    assert (found.decided_on, found.versions) == (date(2026, 11, 30), "vllm 0.32.0")


def test_a_difference_inside_the_noise_band_is_none(ws: Workspace) -> None:
    # A/A: 10 and 11, so the band is 1 / 10.5 = 9.5 %; 5 % and 9 % are inside it.
    promoted(ws, batch(ONE, {4: [10.5] * 3, 16: [10.9] * 3}, twin=11.0))
    assert verdict(ws).verdict == "holds"


def test_the_same_difference_outside_a_narrower_band_counts(ws: Workspace) -> None:
    promoted(ws, batch(ONE, {4: [10.5] * 3, 16: [10.9] * 3}, twin=10.1))
    assert verdict(ws).verdict == "fails"


def test_points_that_differ_make_it_depend_on_the_named_dimension(ws: Workspace) -> None:
    promoted(ws, batch(ONE, {4: [10.1] * 3, 16: [41.0] * 3}, twin=10.2))
    found = verdict(ws)
    assert (found.verdict, found.dimension) == ("depends", "concurrency")


def test_the_headline_may_be_another_point(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("points = 1", 'points = 2\nheadline = "16 in flight"'))
    promoted(ws, batch(ONE, SLOWER, twin=10.2))
    assert verdict(ws).value == 4.1


def test_twins_are_no_repeats(ws: Workspace) -> None:
    promoted(ws, batch([10.0, 10.0], {4: [20.0, 20.0]}, twin=10.1))
    found = verdict(ws)
    assert found.verdict == "not measured"
    assert found.note is not None
    assert "2 repeats of 4 in flight, a verdict needs 3" in found.note


def test_without_an_a_a_pair_there_is_no_verdict(ws: Workspace) -> None:
    promoted(ws, batch(ONE, SLOWER, twin=None))
    assert verdict(ws).verdict == "not measured"
    assert "no A/A band of the same host" in (verdict(ws).note or "")


def test_an_a_a_pair_of_another_host_does_not_help(ws: Workspace) -> None:
    promoted(ws, batch(ONE, SLOWER, twin=None))
    twins = repeated(ONE, 10.1, experiment="other", host_id="another", lane="cpu")
    promoted(ws, twins, run_id="cpu-20261130T000000Z")
    assert "no A/A band of the same host" in (verdict(ws).note or "")


def test_failed_cells_count_for_nothing(ws: Workspace) -> None:
    rows = batch(ONE, {4: [20.0, 20.0, 20.0]}, twin=10.1)
    rows[-1] = rows[-1].model_copy(update={"status": "failed", "failure": "it died", "tpot_p50_ms": None})
    promoted(ws, rows)
    assert "2 repeats" in (verdict(ws).note or "")


def test_missing_points_hold_the_verdict_back(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("points = 1", "points = 3"))
    promoted(ws, batch(ONE, SLOWER, twin=10.1))
    assert "2 of 3 points measured" in (verdict(ws).note or "")


def test_no_rows_at_all(ws: Workspace) -> None:
    found = verdict(ws)
    assert (found.verdict, found.freshness, found.lane, found.value) == (
        "not measured",
        "not applicable",
        None,
        None,
    )
    assert found.note == "cpu: no rows in scope; would be settled by: gpu, published, cpu"


@pytest.mark.parametrize(
    ("day", "expected"), [(date(2026, 12, 30), "current"), (date(2026, 12, 31), "stale")]
)
def test_cpu_rows_are_stale_after_thirty_days(ws: Workspace, day: date, expected: str) -> None:
    promoted(ws, batch(ONE, SLOWER, twin=10.1))
    assert verdict(ws, day).freshness == expected


def test_the_verdict_turns_when_the_newest_run_says_otherwise(ws: Workspace) -> None:
    promoted(ws, batch(ONE, SLOWER, twin=10.1))
    assert verdict(ws).verdict == "fails"
    next_day = {"started_at": datetime(2026, 12, 1, tzinfo=UTC)}
    flat = [row.model_copy(update=next_day) for row in batch(ONE, {4: ONE, 16: ONE}, twin=10.1)]
    promoted(ws, flat, run_id="cpu-20261201T000000Z")
    assert verdict(ws).verdict == "holds"


def test_a_claim_that_names_a_gpu_says_what_a_cpu_showed(ws: Workspace) -> None:
    claim_file(ws, names_gpu="true", note='"size waits"')
    promoted(ws, batch(ONE, SLOWER, twin=10.1))
    assert verdict(ws).note == "mechanism on CPU; not measured on a GPU; size waits"


def test_outcomes_can_be_turned_round(ws: Workspace) -> None:
    claim_file(ws, if_false='"ill-posed"')
    promoted(ws, batch(ONE, SLOWER, twin=10.1))
    assert verdict(ws).verdict == "ill-posed"


@pytest.mark.parametrize("word", ["reported", "definition"])
def test_craft_pay_and_definitions_need_no_data(ws: Workspace, word: str) -> None:
    claim_file(ws, evidence="", lanes="[]", always=f'"{word}"')
    found = verdict(ws)
    assert (found.verdict, found.freshness, found.lane) == (word, "not applicable", None)


def test_a_query_that_cannot_run_names_its_claim(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("latest_repeats many", "nothing_such many"))
    with pytest.raises(InputError, match=r"claim R06: .*nothing_such"):
        verdict(ws)


def test_a_claim_file_with_a_wrong_field_is_named_with_its_line(ws: Workspace) -> None:
    claim_file(ws, topic='"weather"')
    with pytest.raises(InputError, match="line 2, field topic"):
        verdict(ws)


def test_points_that_may_differ_need_a_dimension(ws: Workspace) -> None:
    claim_file(ws, RATIO.replace("points = 1", "points = 2"))
    text = (ws.claims / "R06.toml").read_text().replace('dimension = "concurrency"\n', "")
    (ws.claims / "R06.toml").write_text(text)
    with pytest.raises(InputError, match="name the `dimension`"):
        verdict(ws)


# Two sources that speak of the same GPU class.


def on_gpu(values: list[float]) -> list[Observation]:
    known = {"lane": "gpu", "experiment": "pairs", "host_id": "b" * 16}
    return repeated(values, values[0] + 0.01, **known)


GPU = """
    [[evidence]]
    lane = "gpu"
    kind = "engine_vs_engine"
    quantity = "TPOT ratio of the engines"
    experiments = ["pairs"]
    sql = "SELECT 'all' AS point, tpot_p50_ms AS value FROM latest_repeats WHERE lane = 'gpu'"
    [evidence.rule]
    when = "below"
    threshold = 1.0
    [evidence.rule.noise]
    experiment = "pairs"
    metric = "tpot_p50_ms"
    relative = true
    no_difference = 1.0
    inside = "false"
"""


def sweeps(count: int, around: float) -> str:
    """Published sweeps at around -0.05, ..., around +0.05."""
    value = f"{around} + 0.1 * (i / ({count} - 1.0) - 0.5)"
    sql = f"SELECT 'all' AS point, {value} AS value, DATE '2026-10-01' AS dated"
    return f"""
    [[evidence]]
    lane = "published"
    kind = "engine_vs_engine"
    quantity = "TPOT ratio of the engines"
    sql = "{sql} FROM range({count}) t(i)"
    [evidence.rule]
    when = "below"
    threshold = 1.0
    """


def test_gpu_goes_before_published(ws: Workspace) -> None:
    claim_file(ws, GPU + sweeps(10, 0.8))
    promoted(ws, on_gpu([0.7, 0.72, 0.71]))
    found = verdict(ws)
    assert (found.verdict, found.lane, found.value) == ("holds", "gpu", 0.71)


def test_sources_that_disagree_beyond_both_bands_make_it_depend_on_the_source(ws: Workspace) -> None:
    claim_file(ws, GPU + sweeps(10, 0.8))
    promoted(ws, on_gpu([1.3, 1.31, 1.32]))
    found = verdict(ws)
    assert (found.verdict, found.dimension) == ("depends", "source")
    assert found.note == "sources disagree: gpu fails (1.31), published holds (0.8)"


def test_a_disagreement_inside_the_bands_is_none(ws: Workspace) -> None:
    claim_file(ws, GPU + sweeps(10, 0.96))
    promoted(ws, on_gpu([1.0, 1.01, 1.0]))
    assert (verdict(ws).verdict, verdict(ws).lane) == ("fails", "gpu")


def test_published_decides_where_no_gpu_row_is(ws: Workspace) -> None:
    claim_file(ws, GPU + sweeps(10, 0.8))
    found = verdict(ws)
    assert (found.verdict, found.lane, found.n_independent) == ("holds", "published", 10)
    assert found.low is not None
    assert found.high is not None
    assert 0.75 <= found.low < 0.8 < found.high <= 0.85
    assert found.decided_on == date(2026, 10, 1)


def test_fewer_than_eight_sweeps_have_no_interval(ws: Workspace) -> None:
    claim_file(ws, sweeps(7, 0.8))
    found = verdict(ws)
    assert (found.verdict, found.low, found.high, found.n_independent) == ("holds", None, None, 7)
