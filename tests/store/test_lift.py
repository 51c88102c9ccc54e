"""Old rows are lifted when read, one version at a time, and never rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import DataError
from pipeline.schemas.observation import SCHEMA_VERSION
from pipeline.store.lift import lift_row
from tests.fixtures.rows import observation


def as_stored(**known: Any) -> dict[str, Any]:
    return observation().model_dump(mode="json") | known


def test_each_version_is_lifted_by_its_own_function() -> None:
    lifts = {
        -1: lambda row: row | {"schema_version": 0, "preemptions": row["preempted"]},
        0: lambda row: (
            {k: v for k, v in row.items() if k != "preempted"} | {"schema_version": SCHEMA_VERSION}
        ),
    }
    assert lift_row(as_stored(schema_version=-1, preempted=4), lifts).preemptions == 4


def test_a_row_of_a_newer_release_is_refused() -> None:
    with pytest.raises(DataError, match="schema version 99 cannot be read"):
        lift_row(as_stored(schema_version=99))


def test_a_row_with_a_missing_column_is_refused_by_name() -> None:
    row = as_stored()
    del row["preemptions"]
    with pytest.raises(DataError, match="preemptions: Field required"):
        lift_row(row)
