"""What was seen becomes observation rows, one a phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.errors import DataError
from pipeline.lanes.percentiles import mean_or_none, percentile_or_none
from pipeline.lanes.phases import part, phases_of
from pipeline.lanes.served import Served
from pipeline.lanes.workers import recomputed_tokens, scheduled_tokens, worker_of
from pipeline.load import SentRequest
from pipeline.load.ceiling import ceiling_tokens
from pipeline.schemas.identity import cell_id, series_id, workload_hash
from pipeline.schemas.observation import SCHEMA_VERSION, Observation, RequestRow
from pipeline.schemas.profile import PlannedCell
from pipeline.schemas.words import Phase
from pipeline.telemetry.prometheus import increase

RESULT_FIELDS = tuple(Observation.model_fields)[tuple(Observation.model_fields).index("requests") :]


@dataclass(frozen=True)
class RunContext:
    """What all rows of a run share."""

    run_id: str
    host_id: str
    versions: dict[str, str]


def ok_rows(
    context: RunContext, planned: PlannedCell, started: datetime, served: Served
) -> list[Observation]:
    """The rows of a cell that went well.

    Raises:
        DataError: where the engines' counters and the requests contradict each other.
    """
    _cross_check(served)
    shared = _identity(context, planned, started, served.dataset, "ok", None) | _pool(served)
    return [
        Observation(
            **shared,
            **_results(planned, served, phase),
            phase=phase,
            duration_s=_duration_s(part(served.load.requests, phase)),
        )
        for phase in phases_of(planned.cell.workload)
    ]


def failed_row(
    context: RunContext, planned: PlannedCell, started: datetime, dataset: bytes, why: str
) -> Observation:
    """The row of a cell that failed: its identity, its reason, and no result."""
    empty: dict[str, Any] = dict.fromkeys(RESULT_FIELDS)
    shared = _identity(context, planned, started, dataset, "failed", why)
    return Observation(
        **shared,
        **empty,
        phase="whole",
        duration_s=None,
        kv_pool_blocks=planned.cell.engine.kv_pool_blocks,
        kv_pool_tokens=None,
    )


def request_rows(context: RunContext, planned: PlannedCell, served: Served) -> list[RequestRow]:
    """One row for each answered request, with the replica that served it."""
    workers, by_place = worker_of(served.logs), _prompts_by_place(served)
    origin = served.load.requests[0].start_ns
    identity = cell_id(planned.cell, context.versions)
    return [
        RequestRow(
            cell_id=identity,
            repeat=planned.repeat,
            request_id=r.request_id,
            arrival_s=(r.start_ns - origin) / 1e9,
            prefix_id=by_place[r.session_id, r.turn].prefix_id,
            session_id=r.session_id,
            turn=r.turn,
            worker=workers.get(r.request_id),
            input_tokens=r.input_tokens or 0,
            output_tokens=r.output_tokens or 0,
            cached_tokens=r.cached_tokens,
            ttft_ms=r.ttft_ms,
            e2e_ms=r.e2e_ms,
        )
        for r in served.load.answered
    ]


def _identity(
    context: RunContext,
    planned: PlannedCell,
    started: datetime,
    dataset: bytes,
    status: str,
    failure: str | None,
) -> dict[str, Any]:
    cell = planned.cell
    engine, work = cell.engine, cell.workload
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": context.run_id,
        "cell_id": cell_id(cell, context.versions),
        "series_id": series_id(cell),
        "workload_hash": workload_hash(dataset),
        "host_id": context.host_id,
        "experiment": cell.experiment,
        "lane": cell.lane,
        "repeat": planned.repeat,
        "twin_of_repeat": planned.twin_of_repeat,
        "status": status,
        "failure": failure,
        "started_at": started,
        "engine": engine.name,
        "engine_version": context.versions.get(engine.name),
        "model": engine.model,
        "replicas": engine.replicas,
        "policy": cell.router.policy if cell.router else None,
        "router_version": context.versions.get("vllm-router") if cell.router else None,
        "answers_render": engine.answers_render,
        "prefix_caching": engine.prefix_caching,
        "traffic": work.traffic,
        "concurrency": work.concurrency,
        "request_rate_per_s": work.request_rate_per_s,
        "burstiness": work.burstiness,
        "prompt_tokens_each": work.prompt_tokens,
        "output_tokens_each": work.output_tokens,
        "prefixes": work.prefixes,
        "prefix_tokens": work.prefix_tokens,
    }


def _pool(served: Served) -> dict[str, int | None]:
    """The pool as the server states it, not as it was asked for."""
    blocks = served.after[0].label("vllm:cache_config_info", "num_gpu_blocks")
    size = served.after[0].label("vllm:cache_config_info", "block_size")
    known = blocks is not None and size is not None
    return {
        "kv_pool_blocks": int(blocks or 0) if known else None,
        "kv_pool_tokens": int(blocks or 0) * int(size or 0) if known else None,
    }


def _results(planned: PlannedCell, served: Served, phase: Phase) -> dict[str, Any]:
    sent = part(served.load.requests, phase)
    answered = [r for r in sent if r.error is None]
    duration = _duration_s(sent)
    outputs = _total(answered, "output_tokens")
    empty: dict[str, Any] = dict.fromkeys(RESULT_FIELDS)
    return (
        empty
        | _latencies(answered)
        | _cache(planned, served, phase, answered)
        | _balance(served, answered)
        | {
            "requests": len(sent),
            "requests_ok": len(answered),
            "requests_failed": len(sent) - len(answered),
            "req_s": len(answered) / duration if duration else None,
            "tok_s": outputs / duration if duration and outputs is not None else None,
            "output_tokens": outputs,
        }
        | (_whole(served) if phase == "whole" else {})
    )


def _latencies(answered: Sequence[SentRequest]) -> dict[str, float | None]:
    row: dict[str, float | None] = {"ttft_mean_ms": mean_or_none(r.ttft_ms for r in answered)}
    for name in ("ttft", "tpot", "e2e"):
        values = [getattr(r, f"{name}_ms") for r in answered]
        row |= {f"{name}_p{q}_ms": percentile_or_none(values, q) for q in (50, 90, 99)}
    return row


def _cache(
    planned: PlannedCell, served: Served, phase: Phase, answered: Sequence[SentRequest]
) -> dict[str, Any]:
    prompts, cached = _total(answered, "input_tokens"), _total(answered, "cached_tokens")
    return {
        "prompt_tokens": prompts,
        "cached_tokens": cached,
        "prefix_hit_rate": cached / prompts if prompts and cached is not None else None,
        "prefix_hit_ceiling": _ceiling(planned, served, phase),
    }


def _ceiling(planned: PlannedCell, served: Served, phase: Phase) -> float:
    """In the order the requests were really sent: sessions interleave as the client chose."""
    by_place = _prompts_by_place(served)
    ordered = [by_place[r.session_id, r.turn] for r in served.load.requests]
    hits = part(ceiling_tokens(ordered, planned.cell.engine.block_size_tokens), phase)
    return sum(hits) / sum(len(prompt.text) for prompt in part(ordered, phase))


def _balance(served: Served, answered: Sequence[SentRequest]) -> dict[str, Any]:
    """Requests per replica, from the engines' logs; one replica has nothing to balance."""
    if len(served.servers) < 2:
        return {}
    workers = worker_of(served.logs)
    counts = Counter(workers[r.request_id] for r in answered if r.request_id in workers)
    met: dict[str, set[int]] = {}
    for request in answered:
        if request.request_id in workers:
            met.setdefault(request.session_id, set()).add(workers[request.request_id])
    return {
        "imbalance": max(counts.values()) / (counts.total() / len(served.servers)) if counts else None,
        "sessions_split": sum(1 for replicas in met.values() if len(replicas) > 1),
    }


def _whole(served: Served) -> dict[str, Any]:
    """What only the engines' own counters tell, so only for a cell as a whole."""
    prompt, cached = (
        _grown(served, "vllm:prompt_tokens_total"),
        _grown(served, "vllm:prompt_tokens_cached_total"),
    )
    output, preempted = (
        _grown(served, "vllm:generation_tokens_total"),
        _grown(served, "vllm:num_preemptions_total"),
    )
    queried = _grown(served, "vllm:prefix_cache_queries_total")
    hits = _grown(served, "vllm:prefix_cache_hits_total")
    scheduled = scheduled_tokens(served.logs)
    row: dict[str, Any] = {
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "output_tokens": output,
        "preemptions": preempted,
        "prefix_hit_rate": hits / queried if queried and hits is not None else _no_queries(cached),
        "recomputed_tokens": recomputed_tokens(scheduled, prompt, cached, output, len(served.load.answered)),
        "queue_mean_ms": _histogram_mean_ms(served, "vllm:request_queue_time_seconds"),
        "prefill_mean_ms": _histogram_mean_ms(served, "vllm:request_prefill_time_seconds"),
    }
    if served.decisions:
        row |= {
            "router_prefix_hits": served.decisions.hits,
            "router_prefix_misses": served.decisions.misses,
            "router_missing_tokens": served.decisions.missing_tokens,
        }
    if served.memory:
        seen = served.memory
        row |= {
            "rss_before_gib": seen.before_gib,
            "rss_peak_gib": seen.peak_gib,
            "rss_after_gib": seen.after_gib,
            "kv_usage_peak": seen.kv_usage_peak,
        }
    return row


def _no_queries(cached: int | None) -> float | None:
    """With caching off the cache is never asked; the engine still counts cached tokens, and counts none."""
    return 0.0 if cached == 0 else None


def _grown(served: Served, name: str) -> int | None:
    """Growth of a counter over all replicas; None where any of them lacks it."""
    parts = [increase(before, after, name) for before, after in zip(served.before, served.after, strict=True)]
    known = [value for value in parts if value is not None]
    return int(sum(known)) if len(known) == len(parts) else None


def _histogram_mean_ms(served: Served, name: str) -> float | None:
    pairs = list(zip(served.before, served.after, strict=True))
    total = [increase(b, a, f"{name}_sum") for b, a in pairs]
    count = [increase(b, a, f"{name}_count") for b, a in pairs]
    if None in total or not sum(c or 0 for c in count):
        return None
    return 1000.0 * sum(t or 0 for t in total) / sum(c or 0 for c in count)


def _cross_check(served: Served) -> None:
    """The engines and the client must tell of the same requests."""
    finished = _grown(served, "vllm:request_success_total")
    answered = len(served.load.answered)
    if finished is not None and finished != answered:
        raise DataError(
            f"engines finished {finished} requests, the client has {answered}",
            where="engine counters",
            next_step="another client used the engines, or requests were cut; run the cell again",
        )


def _total(requests: Sequence[SentRequest], name: str) -> int | None:
    values = [getattr(r, name) for r in requests]
    return None if not values or None in values else sum(values)


def _duration_s(requests: Sequence[SentRequest]) -> float | None:
    return (max(r.end_ns for r in requests) - requests[0].start_ns) / 1e9 if requests else None


def _prompts_by_place(served: Served) -> dict[tuple[str, int], Any]:
    return {(prompt.session_id, prompt.turn): prompt for prompt in served.prompts}
