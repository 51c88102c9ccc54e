"""Profile and experiment files: what a person who edits one sees."""

from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.plan import Machine, load_any_profile, load_experiment, load_profile, plan, profile_names
from pipeline.plan.files import read_toml
from pipeline.schemas.base import Authored
from pipeline.schemas.profile import Profile, knob


def test_an_unknown_profile_names_the_close_one_and_all_others() -> None:
    with pytest.raises(InputError) as caught:
        load_profile("cpu-quik")
    assert "unknown profile 'cpu-quik'" in caught.value.message
    assert "did you mean cpu-quick?" in caught.value.message
    for name in profile_names():
        assert name in caught.value.message


def test_bad_syntax_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text('name = "broken"\nrepeats = = 3\n')
    with pytest.raises(InputError) as caught:
        load_profile("broken", tmp_path)
    assert "line 2" in caught.value.message
    assert "broken.toml" in caught.value.message


def test_bad_content_names_file_line_and_field(tmp_path: Path) -> None:
    text = Path(load_profile.__code__.co_filename).parents[1].joinpath("profiles/cpu.toml").read_text()
    (tmp_path / "cpu.toml").write_text(
        text.replace("repeats = 3", "repeats = 0").replace("seed = 7", "sead = 7")
    )
    with pytest.raises(InputError) as caught:
        load_profile("cpu", tmp_path)
    assert "line 4, field repeats" in caught.value.message
    assert "field sead" in caught.value.message
    assert "field seed: Field required" in caught.value.message


def test_a_file_whose_name_field_differs_is_refused(tmp_path: Path) -> None:
    source = Path(read_toml.__code__.co_filename).parents[1] / "profiles" / "cpu.toml"
    (tmp_path / "other.toml").write_text(source.read_text())
    with pytest.raises(InputError, match="differ"):
        load_profile("other", tmp_path)


def test_an_unknown_policy_names_the_field(tmp_path: Path) -> None:
    from pipeline.plan.expand import expand

    experiment = load_experiment("routing")
    odd = experiment.model_copy(update={"grids": ({"policy": ("fastest",), "traffic": ("unshared",)},)})
    with pytest.raises(InputError) as caught:
        expand(odd, 1)
    assert "router.policy" in caught.value.message
    assert "cache_aware" in caught.value.message


def test_an_unknown_traffic_names_the_known_ones() -> None:
    from pipeline.plan.expand import expand

    experiment = load_experiment("routing")
    odd = experiment.model_copy(update={"grids": ({"policy": ("random",), "traffic": ("shard",)},)})
    with pytest.raises(InputError, match="known: shared-even, shared-skewed, unshared, sessions"):
        expand(odd, 1)


def test_a_filter_that_leaves_nothing_is_refused() -> None:
    profile = load_profile("cpu-quick")
    first = profile.experiments[0].model_copy(update={"only": {"engine.kv_pool_blocks": (7,)}})
    with pytest.raises(InputError, match="no cell of kv_pressure"):
        plan(profile.model_copy(update={"experiments": (first,)}))


def test_quick_is_a_strict_subset_of_the_full_profile() -> None:
    quick, full = plan(load_profile("cpu-quick")), plan(load_profile("cpu"))
    assert {c.cell.model_dump_json() for c in quick.cells} < {c.cell.model_dump_json() for c in full.cells}
    assert not quick.profile.promotable
    experiments = {c.cell.experiment for c in quick.cells}
    assert experiments >= {"kv_pressure", "burst", "batch", "prefix", "routing_memory", "routing"}


def test_expected_times_fit_the_limits() -> None:
    assert plan(load_profile("cpu-quick")).expected_s <= 8 * 60
    assert plan(load_profile("cpu"), Machine(2)).expected_s <= 90 * 60


def test_rounds_and_shared_servers() -> None:
    full = plan(load_profile("cpu"))
    numbers = [c.repeat % 100 for c in full.cells]
    assert numbers == sorted(numbers), "repeats must go in rounds"
    for number in (1, 2, 3):
        keys = [c.server_key for c in full.cells if c.repeat % 100 == number]
        blocks = [key for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
        assert len(blocks) == len(set(blocks)), "within a round each server serves all its cells"


def test_twins_follow_their_cell_and_have_numbers_of_their_own() -> None:
    full = plan(load_profile("cpu"))
    twins = [i for i, c in enumerate(full.cells) if c.twin_of_repeat is not None]
    assert len(twins) >= 8
    for place in twins:
        twin, before = full.cells[place], full.cells[place - 1]
        assert twin.cell == before.cell
        assert twin.twin_of_repeat == before.repeat
        assert twin.repeat == 100 + before.repeat


def test_full_profile_covers_the_questions_grid() -> None:
    cells = [c.cell for c in plan(load_profile("cpu")).cells]
    routing = {(knob(c, "policy"), knob(c, "traffic")) for c in cells if c.experiment == "routing"}
    assert len(routing) == 20
    pools = {c.engine.kv_pool_blocks for c in cells if c.experiment == "routing_memory"}
    assert len(pools) == 4


def test_every_profile_and_experiment_file_loads() -> None:
    for name in profile_names():
        profile = load_any_profile(name)
        if not isinstance(profile, Profile):
            continue  # computed
        for selection in profile.experiments:
            assert load_experiment(selection.name).title


def test_three_replicas_are_planned_only_where_there_are_four_cores() -> None:
    full = load_profile("cpu")
    assert {c.cell.engine.replicas for c in plan(full, Machine(2)).cells} == {1, 2}
    wide = [c for c in plan(full, Machine(4)).cells if c.cell.engine.replicas == 3]
    assert {c.cell.experiment for c in wide} == {"routing_three"}


def test_a_field_that_an_entry_lacks_names_the_line_of_that_entry(tmp_path: Path) -> None:
    class Price(Authored):
        item: str
        source: str

    class Prices(Authored):
        prices: tuple[Price, ...]

    path = tmp_path / "prices.toml"
    entries = ('item = "a"\nsource = "x"\n', 'item = "b"\n', 'item = "c"\nsource = "z"\n')
    path.write_text("\n".join(f"[[prices]]\n{entry}" for entry in entries))
    with pytest.raises(InputError, match=r"line 5, field prices\.1\.source"):
        read_toml(path, Prices)
