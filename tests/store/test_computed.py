"""Tables of computed lanes: replaced together, only when an input changed, and refused when damaged."""

from pathlib import Path

import pytest
from pydantic import Field

from pipeline.errors import DataError
from pipeline.paths import Workspace
from pipeline.schemas.base import Strict
from pipeline.store.computed import (
    Computation,
    ComputedTable,
    is_current,
    lane_folder,
    read_computed,
    write_computed,
)


class Row(Strict):
    model: str = Field(description="model")
    gib: float | None = Field(description="size, GiB")


TABLE = ComputedTable("sizes", "derived", Row, "Sizes.")


def write(ws: Workspace, gib: float | None, inputs: dict[str, str]) -> None:
    tables = {"sizes": TABLE.arrow([Row(model="m", gib=gib)])}
    write_computed(ws, "derived", inputs, Computation(tables, {"numpy": "2"}, 0.5), "weighbridge run derived")


def test_a_lane_that_was_never_computed_is_an_empty_typed_table(tmp_path: Path) -> None:
    table = read_computed(Workspace(tmp_path), TABLE)
    assert table.num_rows == 0
    assert table.schema.names == ["model", "gib"]


def test_tables_are_current_until_an_input_changes_and_missing_stays_missing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write(ws, None, {"prices": "a"})
    assert is_current(ws, "derived", {"prices": "a"})
    assert not is_current(ws, "derived", {"prices": "b"})
    assert read_computed(ws, TABLE).to_pylist() == [{"model": "m", "gib": None}]


def test_new_inputs_replace_the_old_file(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write(ws, 1.0, {"prices": "a"})
    write(ws, 2.0, {"prices": "b"})
    assert len(list(lane_folder(ws, "derived").glob("*.parquet"))) == 1
    assert read_computed(ws, TABLE).to_pylist() == [{"model": "m", "gib": 2.0}]


def test_equal_inputs_and_rows_give_equal_bytes(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        ws = Workspace(tmp_path / name)
        write(ws, 1.5, {"prices": "a"})
        (path,) = lane_folder(ws, "derived").glob("*.parquet")
        files.append((path.name, path.read_bytes()))
    assert files[0] == files[1]


def test_a_changed_file_is_refused_with_the_command_that_mends_it(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write(ws, 1.0, {"prices": "a"})
    (path,) = lane_folder(ws, "derived").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match="weighbridge run derived --fresh"):
        read_computed(ws, TABLE)
