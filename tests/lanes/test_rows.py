"""Rows from what was seen: values worked out by hand."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipeline.engines import Server
from pipeline.errors import DataError
from pipeline.lanes.rows import RunContext, failed_row, ok_rows, request_rows
from pipeline.lanes.served import Served
from pipeline.load import LoadResult, SentRequest, make_prompts, prompts_jsonl
from pipeline.routers import RouterDecisions
from pipeline.schemas.cell import Cell, EngineKnobs, RouterKnobs, Workload
from pipeline.schemas.observation import Observation
from pipeline.schemas.profile import PlannedCell
from pipeline.telemetry.prometheus import Sample, parse

CONTEXT = RunContext("cpu-20260101T000000Z", "host", {"vllm": "0.32.0", "vllm-router": "0.1.17"})
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def planned(requests: int = 4) -> PlannedCell:
    cell = Cell(
        experiment="routing",
        lane="cpu",
        engine=EngineKnobs(name="vllm", model="wb-small", replicas=2),
        router=RouterKnobs(policy="cache_aware"),
        workload=Workload(
            traffic="shared-even",
            requests=requests,
            concurrency=2,
            prompt_tokens=16,
            output_tokens=8,
            prefixes=1,
            prefix_tokens=64,
        ),
    )
    return PlannedCell(cell=cell, repeat=1, twin_of_repeat=None, expected_s=1)


def counters(finished: int, prompt: int, cached: int, output: int) -> Sample:
    text = "".join(
        f"vllm:{name} {value}\n"
        for name, value in {
            "request_success_total": finished,
            "prompt_tokens_total": prompt,
            "prompt_tokens_cached_total": cached,
            "prefix_cache_queries_total": prompt,
            "prefix_cache_hits_total": cached,
            "generation_tokens_total": output,
            "num_preemptions_total": 0,
            "request_queue_time_seconds_sum": finished * 0.002,
            "request_queue_time_seconds_count": finished,
        }.items()
    )
    return parse(text + 'vllm:cache_config_info{block_size="32",num_gpu_blocks="256"} 1\n')


def served(cell: PlannedCell, **changes: Any) -> Served:
    """Four requests, one a second, three on replica 0; all but the first found the 64-token prefix."""
    prompts = make_prompts(cell.cell.workload)
    sent = [
        SentRequest(
            f"id-{n}",
            prompt.session_id,
            0,
            n * SECOND,
            n * SECOND + SECOND // 2,
            None,
            10.0 + n,
            2.0,
            24.0,
            80,
            8,
            64 if n else 0,
        )
        for n, prompt in enumerate(prompts)
    ]
    logs = [
        "".join(f"Received request cmpl-id-{n}-0: x\n" for n in (0, 1, 2)),
        "Received request cmpl-id-3-0: x\n",
    ]
    fields: dict[str, Any] = {
        "prompts": prompts,
        "dataset": prompts_jsonl(prompts, 1),
        "load": LoadResult(tuple(sent)),
        "before": [counters(5, 400, 0, 40), counters(7, 560, 0, 56)],
        "after": [counters(8, 640, 128, 64), counters(8, 640, 64, 64)],
        "logs": logs,
        "decisions": RouterDecisions(3, 1, 0),
        "memory": None,
        "servers": cast("list[Server]", [SimpleNamespace()] * 2),
    }
    return Served(**(fields | changes))


def by_phase(rows: list[Observation]) -> Mapping[str, Observation]:
    return {row.phase: row for row in rows}


def test_whole_row_by_hand() -> None:
    whole = by_phase(ok_rows(CONTEXT, planned(), STARTED, served(planned())))["whole"]
    assert whole.prompt_tokens == 4 * 80
    assert whole.cached_tokens == 3 * 64
    assert whole.prefix_hit_rate == 192 / 320
    assert whole.prefix_hit_ceiling == 192 / 320, "one miss is the best that can be"
    assert whole.output_tokens == 32
    assert whole.duration_s == 3.5
    assert whole.req_s == 4 / 3.5
    assert whole.tok_s == 32 / 3.5
    assert whole.tok_s_per_gpu is None
    assert whole.queue_mean_ms == pytest.approx(2.0)
    assert whole.imbalance == 3 / 2
    assert (whole.router_prefix_hits, whole.router_prefix_misses, whole.router_missing_tokens) == (3, 1, 0)
    assert whole.kv_pool_tokens == 256 * 32
    assert whole.ttft_mean_ms == 11.5
    assert whole.ttft_p50_ms is None, "four requests carry no percentile"
    assert whole.recomputed_tokens is None, "the engine did not log its steps"
    assert whole.rss_peak_gib is None


def test_cold_and_steady_are_the_halves_in_order_of_sending() -> None:
    rows = by_phase(ok_rows(CONTEXT, planned(), STARTED, served(planned())))
    assert (rows["cold"].prefix_hit_rate, rows["steady"].prefix_hit_rate) == (64 / 160, 128 / 160)
    assert (rows["cold"].imbalance, rows["steady"].imbalance) == (2.0, 1.0)
    assert rows["steady"].router_prefix_hits is None, "the router counts a cell as a whole only"
    assert rows["cold"].preemptions is None


def test_ids_are_the_same_for_a_failed_cell_and_its_results_are_missing() -> None:
    good = ok_rows(CONTEXT, planned(), STARTED, served(planned()))[0]
    bad = failed_row(CONTEXT, planned(), STARTED, served(planned()).dataset, "AIPerf ended with status 3")
    assert (good.cell_id, good.series_id, good.workload_hash) == (
        bad.cell_id,
        bad.series_id,
        bad.workload_hash,
    )
    assert bad.status == "failed"
    assert (bad.requests, bad.ttft_mean_ms, bad.preemptions, bad.prefix_hit_rate) == (None,) * 4


def test_engines_and_client_must_agree() -> None:
    three = served(planned(), load=LoadResult(served(planned()).load.requests[:3]))
    with pytest.raises(DataError, match="engines finished 4 requests, the client has 3"):
        ok_rows(CONTEXT, planned(), STARTED, three)


def test_a_restart_within_the_cell_is_refused() -> None:
    after = [counters(2, 160, 0, 16), counters(8, 640, 64, 64)]
    with pytest.raises(DataError, match="went backwards"):
        ok_rows(CONTEXT, planned(), STARTED, served(planned(), after=after))


def test_a_counter_the_engine_lacks_is_missing() -> None:
    without = [Sample({}, {}), Sample({}, {})]
    whole = ok_rows(CONTEXT, planned(), STARTED, served(planned(), before=without, after=without))[0]
    assert (whole.preemptions, whole.queue_mean_ms, whole.kv_pool_tokens) == (None, None, None)


def test_requests_know_their_replica_prefix_and_arrival() -> None:
    rows = request_rows(CONTEXT, planned(), served(planned()))
    assert [row.worker for row in rows] == [0, 0, 0, 1]
    assert [row.arrival_s for row in rows] == [0.0, 1.0, 2.0, 3.0]
    assert {row.prefix_id for row in rows} == {0}
    assert [row.cached_tokens for row in rows] == [0, 64, 64, 64]
