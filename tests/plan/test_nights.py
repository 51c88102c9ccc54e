"""The rotation of a night: a core always, the oldest next, all within the stated number of nights."""

from datetime import UTC, datetime, timedelta

from pipeline.plan import Machine, load_profile, plan, plan_night
from pipeline.plan.nights import choose, cycle
from pipeline.schemas.identity import cell_id, series_id

PROFILE = load_profile("gpu-nightly")
CARD = Machine(cores=16, gpus=1, vram_gib=80.0)
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_a_night_stays_within_its_limit_and_holds_the_core() -> None:
    night = plan_night(PROFILE, CARD, {}, {})
    assert night.plan.expected_s <= 3 * 3600
    assert [unit.label for unit in night.chosen][:2] == ["gpu_defaults", "gpu_equal"]
    assert night.waiting
    assert [label for label, _ in night.left_out] == ["gpu_70b"]


def test_every_unit_is_measured_within_the_stated_number_of_nights() -> None:
    good: dict[str, datetime] = {}
    nights = plan_night(PROFILE, CARD, good, {}).within_nights
    last: dict[str, int] = {}
    for number in range(1, 3 * nights + 1):
        night = plan_night(PROFILE, CARD, good, {})
        for unit in night.chosen:
            assert number - last.get(unit.label, 0) <= nights, unit.label
            last[unit.label] = number
            good |= dict.fromkeys(unit.series, NOW + timedelta(days=number))
    labels = {unit.label for unit in (*night.chosen, *night.waiting)}
    assert labels == last.keys()


def test_the_oldest_goes_first_and_one_missing_cell_makes_a_unit_old() -> None:
    first = plan_night(PROFILE, CARD, {}, {})
    units = {unit.label: unit for unit in (*first.chosen, *first.waiting)}
    good = {each: NOW for unit in units.values() for each in unit.series}
    good |= dict.fromkeys(units["gpu_share"].series, NOW - timedelta(days=9))
    del good[next(iter(units["gpu_legacy"].series))]
    turns = [unit.label for unit in plan_night(PROFILE, CARD, good, {}).chosen if not unit.selection.core]
    assert turns[:2] == ["gpu_legacy", "gpu_share"]


def test_a_unit_longer_than_a_night_leaves_still_gets_its_turn() -> None:
    units = plan_night(PROFILE, CARD, {}, {})
    every = [*units.chosen, *units.waiting]
    chosen, later = choose(every, room_s=1.0)
    assert len([unit for unit in chosen if not unit.selection.core]) == 1
    assert len(chosen) + len(later) == len(every)
    assert cycle(every, room_s=1.0) == len([unit for unit in every if not unit.selection.core])


def test_a_version_bump_measures_old_and_new_in_the_same_night() -> None:
    night = plan_night(PROFILE, CARD, {}, {"vllm": "0.32.0"})
    assert night.plan.expected_s <= 3 * 3600
    both = [c for c in night.plan.cells if c.cell.experiment == "gpu_equal" and c.cell.engine.name == "vllm"]
    old = [c for c in both if c.superseded]
    new = [c for c in both if not c.superseded and c.twin_of_repeat is None]
    assert len(old) == len(new) == 9
    assert {c.cell.engine.version for c in old} == {"0.32.0"}
    versions = {"vllm": "0.33.0"}
    assert {series_id(c.cell) for c in old} == {series_id(c.cell) for c in new}, "history goes on"
    assert not {cell_id(c.cell, versions) for c in old} & {cell_id(c.cell, versions) for c in new}


def test_engines_share_requests_and_cells_of_one_server_do_not() -> None:
    cells = [c.cell for c in plan(PROFILE, CARD).cells if c.cell.experiment == "gpu_equal"]
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.workload.traffic, set()).add(cell.workload.seed)
    assert {len(each) for each in seeds.values()} == {1}
    assert len(set.union(*seeds.values())) == 3


def test_an_interrupted_night_goes_on_with_its_own_units() -> None:
    fixed = frozenset({"gpu_defaults", "gpu_equal", "gpu_prefix"})
    night = plan_night(PROFILE, CARD, {}, {}, fixed)
    assert {unit.label for unit in night.chosen} == fixed


def test_the_owners_weights_stand_in_under_their_own_name() -> None:
    own = Machine(16, 1, 80.0, {"wb-8b": "my-llama"})
    models = {(c.cell.engine.model, c.cell.engine.weights) for c in plan(PROFILE, own).cells}
    assert ("my-llama", "own") in models
    assert ("wb-8b", "gaussian") not in models


def test_small_cards_and_many_cards_get_what_fits() -> None:
    small = plan_night(PROFILE, Machine(8, 1, 24.0), {}, {})
    assert {unit.label for unit in small.chosen} >= {"gpu_defaults", "gpu_sizes (wb-1b)"}
    assert any("it needs a card of 38 GiB, here are 24" in reason for _, reason in small.left_out)
    assert not plan_night(PROFILE, Machine(64, 8, 80.0), {}, {}).left_out
