"""From rows to one value: which run speaks, what is refused, what this machine says beside it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pipeline.schemas.question import FactSpec
from pipeline.site.facts import QueryShape, local_sql, measure, newest_run, reproduce
from tests.fixtures.rows import manifest

OLD, NEW = "cpu-20261101T000000Z", "cpu-20261130T224500Z"
RUNS = {OLD: manifest(run_id=OLD), NEW: manifest(run_id=NEW)}


def spec(**known: Any) -> FactSpec:
    return FactSpec.model_validate({"label": "a count", "lane": "cpu", "sql": "SELECT 1 AS value"} | known)


def rows(*values: float | None, run_id: str = NEW, first: int = 1) -> pd.DataFrame:
    repeats = range(first, first + len(values))
    return pd.DataFrame({"run_id": run_id, "repeat": repeats, "value": pd.Series(values, dtype="Float64")})


def test_median_smallest_largest_of_the_newest_run_only() -> None:
    frame = pd.concat([rows(100, 200, 300, run_id=OLD), rows(5, 9, 6)])
    fact = measure("x", spec(), lambda _: frame, RUNS, None)
    assert (fact.value.value, fact.value.low, fact.value.high, fact.value.n) == (6, 5, 9, 3)
    assert fact.run is RUNS[NEW]


def test_nothing_measured_is_missing() -> None:
    fact = measure("x", spec(), lambda _: rows(), RUNS, None)
    assert (fact.text, fact.interval, fact.value.n) == ("n/a", "n/a", 0)


def test_row_without_a_value_has_words_of_its_own() -> None:
    fact = measure("x", spec(absent="not reached at any pool"), lambda _: rows(None), RUNS, None)
    assert fact.text == "not reached at any pool"


def test_answer_of_one_row_brings_its_own_count() -> None:
    frame = pd.DataFrame({"value": [2.5], "n": [3]})
    fact = measure("x", spec(format="times"), lambda _: frame, RUNS, None)
    assert (fact.text, fact.value.n, fact.run) == ("2.50×", 3, RUNS[NEW])
    assert fact.command == 'weighbridge query "SELECT 1 AS value"'


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.concat([rows(1), rows(2)]), "mixes cells: repeat 1"),
        (pd.concat([rows(1, 2, 3), rows(4, first=101)]), "counts A/A twins"),
        (rows(1).drop(columns="repeat"), "needs the column repeat"),
        (rows(1).rename(columns={"value": "n"}), "needs a column named value"),
        (pd.DataFrame({"value": [1, 2]}), "gives one row"),
    ],
)
def test_query_of_the_wrong_shape_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(QueryShape, match=message):
        measure("x", spec(), lambda _: frame, RUNS, None)


def test_measured_lane_must_name_its_run() -> None:
    with pytest.raises(QueryShape, match="run_id"):
        newest_run(pd.DataFrame({"value": [1]}), "cpu")


def test_local_value_is_of_the_newest_local_run_and_stays_apart() -> None:
    local = manifest(run_id="cpu-quick-20261201T080000Z")

    def ask(sql: str) -> pd.DataFrame:
        return rows(7, run_id=local.run_id) if "local_" in sql else rows(1, 2, 3)

    fact = measure("x", spec(sql="SELECT * FROM latest_repeats"), ask, RUNS, local)
    assert fact.value.value == 2
    assert fact.local is not None
    assert (fact.local.value, fact.local.n) == (7, 1)


def test_local_query_changes_views_and_leaves_words_in_quotes() -> None:
    sql = "SELECT * FROM routing r JOIN observations USING (run_id) WHERE experiment = 'routing'"
    assert local_sql(sql) == (
        "SELECT * FROM local_routing r JOIN local_observations USING (run_id) WHERE experiment = 'routing'"
    )
    assert "twin_of_repeat IS NULL" in local_sql("FROM latest_repeats")


def test_command_is_one_line_narrowed_to_the_run() -> None:
    assert reproduce("SELECT 1\n  AS value", RUNS[NEW]) == (
        f"weighbridge query \"SELECT * FROM (SELECT 1 AS value) WHERE run_id = '{NEW}'\""
    )
