"""What the committed run must show, by the engine's own counters. Active as soon as one is promoted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import duckdb
import pytest

from pipeline.paths import Workspace
from pipeline.store.query import run_query
from pipeline.store.runs import list_runs
from pipeline.store.views import open_views

CPU_RUNS = [run for run in list_runs(Workspace(), "promoted") if run.manifest.lane == "cpu"]
pytestmark = pytest.mark.skipif(not CPU_RUNS, reason="no cpu run is promoted yet")

Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    names = ["observations", "latest_repeats", "requests"]
    with open_views(Workspace(), names=names) as opened:
        yield opened


def ask(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, float]]:
    found: list[dict[str, float]] = run_query(connection, sql).to_pylist()
    return found


def test_no_made_up_run_is_promoted() -> None:
    assert {run.manifest.profile for run in CPU_RUNS} == {"cpu"}


def test_at_least_ninety_measured_cells(connection: duckdb.DuckDBPyConnection) -> None:
    (counted,) = ask(
        connection,
        "SELECT count(*) AS rows, count(DISTINCT (cell_id, repeat)) AS cells "
        "FROM observations WHERE lane = 'cpu' AND status = 'ok'",
    )
    assert counted["rows"] >= 90
    assert counted["cells"] >= 90


@pytest.mark.parametrize("concurrency", [8, 16])
def test_preemptions_rise_as_the_pool_shrinks(
    connection: duckdb.DuckDBPyConnection, concurrency: int
) -> None:
    found = ask(
        connection,
        "SELECT kv_pool_blocks, median(preemptions) AS preemptions FROM latest_repeats "
        f"WHERE lane = 'cpu' AND experiment = 'kv_pressure' AND concurrency = {concurrency} "
        "GROUP BY 1 ORDER BY kv_pool_blocks DESC",
    )
    counts = [row["preemptions"] for row in found]
    assert len(counts) >= 4
    assert counts[0] == 0
    assert all(larger <= smaller for larger, smaller in pairwise(counts))
    assert counts[-1] > 0


def test_prefix_hits_only_with_caching_on(connection: duckdb.DuckDBPyConnection) -> None:
    (found,) = ask(
        connection,
        "SELECT min(cached_tokens) FILTER (prefix_caching) AS least_on, "
        "max(cached_tokens) FILTER (NOT prefix_caching) AS most_off, "
        "min(prefix_hit_rate) FILTER (prefix_caching) AS rate_on "
        "FROM latest_repeats WHERE lane = 'cpu' AND experiment = 'prefix' AND phase = 'whole'",
    )
    assert found["least_on"] > 0
    assert found["rate_on"] > 0.5
    assert found["most_off"] == 0


@pytest.mark.parametrize("experiment", ["routing_memory", "routing"])
def test_steady_cache_aware_finds_more_prefixes_than_round_robin(
    connection: duckdb.DuckDBPyConnection, experiment: str
) -> None:
    # Pools that hold every prefix make all policies equal, so the smallest pool is asked.
    (found,) = ask(
        connection,
        "SELECT min(prefix_hit_rate) FILTER (policy = 'cache_aware') AS aware, "
        "max(prefix_hit_rate) FILTER (policy = 'round_robin') AS robin FROM ("
        "  SELECT * FROM latest_repeats WHERE lane = 'cpu' AND phase = 'steady' AND answers_render "
        f"  AND experiment = '{experiment}' AND traffic = 'shared-even' "
        "  QUALIFY kv_pool_blocks = min(kv_pool_blocks) OVER ())",
    )
    assert found["aware"] > found["robin"]


def test_unshared_traffic_hits_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    found = ask(
        connection,
        "SELECT experiment, policy, max(prefix_hit_rate) AS rate, count(*) AS n FROM latest_repeats "
        "WHERE lane = 'cpu' AND traffic = 'unshared' AND policy IS NOT NULL GROUP BY ALL",
    )
    assert {row["policy"] for row in found} >= {"round_robin", "cache_aware"}
    # Unshared prompts may share a few first tokens by chance, never a prefix.
    assert all(row["rate"] < 0.01 for row in found)


def test_the_router_decided_by_token_ids(connection: duckdb.DuckDBPyConnection) -> None:
    (found,) = ask(
        connection,
        "SELECT max(router_missing_tokens / requests) AS missing, min(router_prefix_hits) AS hits "
        "FROM latest_repeats "
        "WHERE lane = 'cpu' AND policy = 'cache_aware' AND traffic = 'shared-even' AND phase = 'whole' "
        "AND answers_render",
    )
    # On a busy machine a replica now and then answers too late with the token ids.
    assert found["missing"] < 0.2
    assert found["hits"] > 0


def test_requests_of_promoted_runs_can_be_replayed(connection: duckdb.DuckDBPyConnection) -> None:
    (found,) = ask(
        connection,
        "SELECT count(*) AS n, count(worker) / count(*) AS placed, count(DISTINCT worker) AS workers "
        "FROM requests r JOIN latest_repeats o USING (run_id, cell_id, repeat) "
        "WHERE o.phase = 'whole' AND o.experiment = 'routing'",
    )
    assert found["n"] > 1000
    assert found["placed"] > 0.99
    assert found["workers"] >= 2
