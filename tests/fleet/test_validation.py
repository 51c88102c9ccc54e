"""What is known of queues and caches, stored runs as closed loops, and the table that holds every gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.cli import fleet_validation
from pipeline.errors import InputError
from pipeline.fleet.check import compared, half_width
from pipeline.fleet.replay import fit_steps, predecessors, replay_checks, workload_of
from pipeline.fleet.theory import (
    QUEUES,
    lru_hit_rate,
    md1,
    mm1,
    most_balls,
    queue_check,
    shares_of_two,
    shortest_of_two,
    simulated_hit_rate,
    two_choices,
)
from pipeline.fleet.validation import conservation_checks
from pipeline.paths import Workspace
from tests.fleet.made import prefixes


def test_formulas_give_the_numbers_of_the_books() -> None:
    assert mm1(0.9) == pytest.approx(10)
    assert md1(0.9) == pytest.approx(5.5)
    assert [round(two_choices(load), 3) for load in (0.5, 0.9, 0.95)] == [1.266, 2.614, 3.383]
    assert shortest_of_two(0.5, most=40) == pytest.approx(1.4263, abs=1e-3)
    assert most_balls(1) == pytest.approx(1)
    assert most_balls(2) == pytest.approx(1.5)
    assert shares_of_two()[0] == pytest.approx(np.tanh(1), abs=1e-6)


def test_a_fleet_of_single_servers_is_a_queue() -> None:
    exact = QUEUES[1]
    found = queue_check(exact, 0.5, effort=0.0)
    assert found.check == "M/D/1, random split"
    assert found.passed
    assert found.low is not None
    assert found.low < found.measured < (found.high or 0)


def test_one_cache_in_order_is_an_lru_list() -> None:
    load = prefixes(600, groups=40, skew=0.6)
    for tokens in (1024, 4096, 8192, 10**6):
        assert simulated_hit_rate(load, tokens) == pytest.approx(lru_hit_rate(load, tokens), abs=1e-12)


def test_what_comes_in_comes_out() -> None:
    assert [check.setting for check in conservation_checks() if not check.passed] == []


def test_a_gap_passes_within_its_tolerance_and_not_beyond() -> None:
    assert compared(("a", "b"), 2.0, 2.1, 0.1, "s").passed
    assert not compared(("a", "b"), 2.0, 2.3, 0.1, "s").passed
    only_told = compared(("a", "b"), 2.0, 2.3, None, "s", spread=0.2)
    assert only_told.passed is None
    assert only_told.low == pytest.approx(2.1)
    assert only_told.high == pytest.approx(2.5)
    assert half_width([1.0, 1.0, 1.0]) == 0


def test_a_request_follows_its_turn_or_takes_a_place_that_fell_free() -> None:
    arrival = np.array([0.0, 0.1, 1.0, 2.0, 2.5])
    end = np.array([0.9, 1.9, 3.0, 2.4, 4.0])
    assert list(predecessors(arrival, end, np.arange(5, dtype=np.int32))) == [-1, -1, 0, 1, 3]
    assert list(predecessors(arrival, end, np.array([0, 1, 0, 2, 1], np.int32))) == [-1, -1, 0, -1, 1]


def cell(**changes: Any) -> dict[str, Any]:
    base = {
        "cell_id": "c",
        "repeat": 1,
        "phase": "whole",
        "status": "ok",
        "answers_render": True,
        "experiment": "routing",
        "traffic": "shared",
        "model": "small",
        "policy": "round_robin",
        "replicas": 2,
        "kv_pool_blocks": 64,
        "kv_pool_tokens": 2048,
        "prefix_tokens": 128,
        "prompt_tokens_each": 16,
        "concurrency": 4,
        "prefix_hit_rate": 0.5,
        "imbalance": 1.0,
        "ttft_mean_ms": 9.0,
        "tpot_p50_ms": None,
        "prefill_mean_ms": 5.0,
    }
    return base | changes


def alone(prompt: int, **changes: Any) -> dict[str, Any]:
    base = {"policy": None, "experiment": "batch", "prefix_hit_rate": 0.0, "prefix_tokens": 0}
    return cell(prompt_tokens_each=prompt, **(base | changes))


ALONE = (
    alone(64, tpot_p50_ms=8.0, concurrency=1, prefill_mean_ms=9.0),
    alone(264, tpot_p50_ms=9.0, concurrency=4, prefill_mean_ms=29.0),
)


def requests(number: int = 40) -> dict[str, Any]:
    return {
        "arrival_s": np.arange(number) * 0.01,
        "prefix_id": np.arange(number) % 2,
        "session_id": [f"r{one}" for one in range(number)],
        "input_tokens": [144] * number,
        "output_tokens": [8] * number,
        "e2e_ms": [30.0] * number,
    }


def test_stored_requests_keep_their_texts_and_follow_each_other() -> None:
    load = workload_of(cell(), requests(6))
    assert load.hash_block_tokens == 32
    assert list(load.chain_blocks) == [4] * 6
    first, second, third = (load.chain_ids[start : start + 4] for start in load.chain_start[:3])
    assert list(first) == list(third)
    assert not set(first) & set(second)
    assert load.after[5] == 2
    assert load.think_s[5] == pytest.approx(0.0)


def test_step_times_are_fitted_on_runs_without_a_router() -> None:
    table = fit_steps([*ALONE, cell()], "small")
    assert list(table.batches) == [1, 4]
    assert list(table.decode_ms.ravel()) == [8, 9]
    assert table.prefill_ms_per_token == pytest.approx(0.1)
    with pytest.raises(InputError, match="no run of other"):
        fit_steps(ALONE, "other")


def test_replayed_runs_are_compared_by_hit_rate_and_order() -> None:
    real = 38 / 40 * 128 / 144
    other = cell(cell_id="d", policy="prefix_only", prefix_hit_rate=real + 0.1)
    cells = [*ALONE, cell(prefix_hit_rate=real), other]
    found = {
        (check.check, check.setting): check
        for check in replay_checks(cells, {("c", 1): requests(), ("d", 1): requests()})
    }
    rate = found["replayed run, hit rate", "routing, shared, 64 blocks, round_robin"]
    assert rate.passed is not None
    assert found["replayed run, order by hit rate", "routing, shared, 64 blocks"].expected == 1


def test_the_table_goes_on_where_it_was_stopped(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    line = compared(("a", "b"), 1.0, 1.0, 0.1, "s")
    calls: list[str] = []

    def part(name: str) -> Any:
        def compute() -> Any:
            calls.append(name)
            if name == "traces" and len(calls) < 4:
                raise InputError("not fetched")
            return [replace(line, setting=name)]

        return compute

    monkeypatch.setattr(
        fleet_validation, "parts", lambda *_: {"M/M/1": part("M/M/1"), "traces": part("traces")}
    )
    ws, said = Workspace(tmp_path), list[str]()
    assert [row.setting for row in fleet_validation.validation_rows(ws, said.append)] == ["M/M/1"]
    assert "left out, not fetched" in said[1]
    calls += ["", ""]
    rows = fleet_validation.validation_rows(ws, said.append)
    assert [row.setting for row in rows] == ["M/M/1", "traces"]
    assert calls.count("M/M/1") == 1
