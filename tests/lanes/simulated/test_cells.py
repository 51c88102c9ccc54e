"""Small cells of the real simulator: what a reader is told about routing, memory and hot spots."""

from dataclasses import replace
from functools import cache

from pipeline.lanes.simulated.cells import GridCell, Traffic
from pipeline.lanes.simulated.exchange import winner
from pipeline.lanes.simulated.grid import AWARE, BALANCED, BASELINE, POOLS_GIB, traffic
from pipeline.lanes.simulated.serving import ROOFLINE, modelled_steps
from pipeline.lanes.simulated.simulated_cell import simulate_cell
from pipeline.lanes.simulated.steps import step_table
from pipeline.lanes.simulated.workloads import workload
from pipeline.schemas.simulated import FleetCellRow


def simulated(cell: GridCell) -> FleetCellRow:
    return simulate_cell(cell, cache(lambda seed: workload(cell.traffic, seed)), ROOFLINE)


def cell(policy: str, kind: Traffic, pool: float = 16.0) -> GridCell:
    return GridCell("exchange", kind, policy, 16, pool, seeds=(1, 2, 3))  # type: ignore[arg-type]


SHARED = replace(traffic(2.0, 16, 0.75, 512), requests=4000)
UNSHARED = replace(traffic(2.0, 16, 0.0, 0), requests=4000)


def test_without_sharing_a_prefix_router_gains_by_balance_alone() -> None:
    """Nothing is hit, so matching prefixes is counting requests: the same replica is chosen every time."""
    for pool in POOLS_GIB:
        aware, counting = (simulated(cell(policy, UNSHARED, pool)) for policy in (AWARE, "least_outstanding"))
        assert (aware.hit_rate, counting.hit_rate) == (0.0, 0.0)
        assert aware.ttft_p99_ms == counting.ttft_p99_ms


def test_routing_by_prefix_finds_more_where_prefixes_are_shared() -> None:
    aware, balanced = simulated(cell(AWARE, SHARED)), simulated(cell(BALANCED, SHARED))
    assert aware.hit_rate is not None and balanced.hit_rate is not None  # noqa: PT018
    assert aware.hit_rate > balanced.hit_rate + 0.15


def test_following_prefixes_without_regard_to_load_collapses() -> None:
    hot = replace(traffic(3.0, 16, 0.75, 64, skew=1.2), requests=6000)
    blind, aware = simulated(cell("prefix_only", hot)), simulated(cell(AWARE, hot))
    assert blind.imbalance > 2 * aware.imbalance
    assert (blind.status, blind.ttft_p99_ms) == ("unstable", None)
    assert blind.reason is not None
    assert "still waiting" in blind.reason
    assert aware.status == "ok"


def test_more_than_a_fleet_serves_is_a_row_with_the_reason() -> None:
    row = simulated(cell(BALANCED, replace(traffic(40.0, 16, 0.0, 0), requests=6000)))
    assert row.status == "unstable"
    assert row.ttft_p50_ms is None
    assert winner(row.ttft_p99_ms, None, None) == "overload"


def test_a_modelled_step_time_that_is_missing_goes_on_straight() -> None:
    def point(kind: str, batch: int, context: int, ms: float) -> dict[str, object]:
        names = {"gpu": "H100", "database_version": "1", "band": 0.2, "band_basis": "rows"}
        return {"kind": kind, "batch": batch, "context_tokens": context, "step_ms": ms, **names}

    rows = [point("decode", 1, c, 5 + c / 1000) for c in (1000, 2000, 4000)]
    rows += [point("decode", 64, c, 5 + c / 100) for c in (1000, 2000)]
    rows += [point("prefill", 1, c, 10 + c / 100) for c in (1000, 4000, 30_000)]
    steps = modelled_steps(rows)
    assert steps.decode_ms[1][2] == 45.0
    assert steps.prefill_tokens == (1000, 4000)
    assert step_table(cell(BASELINE, SHARED).model, steps).decode_at(64, 4000) == 45.0
