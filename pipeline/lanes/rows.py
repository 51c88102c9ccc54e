"""What was seen becomes observation rows, one a phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.errors import DataError
from pipeline.lanes.counted import block_tokens, grown, pool_of, whole_cell
from pipeline.lanes.percentiles import mean_or_none, percentile_or_none
from pipeline.lanes.phases import part, phases_of
from pipeline.lanes.served import Served
from pipeline.lanes.workers import worker_of
from pipeline.load import SentRequest
from pipeline.load.ceiling import ceiling_tokens
from pipeline.schemas.identity import cell_id, series_id, serving_versions, workload_hash
from pipeline.schemas.observation import SCHEMA_VERSION, Observation, RequestRow
from pipeline.schemas.profile import PlannedCell
from pipeline.schemas.words import Phase

_KNOBS = (
    *("kv_dtype", "weights", "backend", "admission", "cuda_graphs", "chunked_prefill"),
    *("gpu_memory_share", "kv_offload_gib", "weight_offload_gib", "tensor_parallel"),
)
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
    shared = _identity(context, planned, started, served.dataset, "ok", None) | pool_of(planned, served)
    shared |= _as_served(shared, served)
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
        kv_pool_gib=None,
        launch_id=None,
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
        "engine_version": serving_versions(cell, context.versions).get(engine.name),
        "model": engine.model,
        "replicas": engine.replicas,
        "policy": cell.router.policy if cell.router else None,
        "router_version": context.versions.get("vllm-router") if cell.router else None,
        "answers_render": engine.answers_render,
        "prefix_caching": engine.prefix_caching,
        **{name: getattr(engine, name) for name in _KNOBS},
        "superseded": planned.superseded,
        "traffic": work.traffic,
        "concurrency": work.concurrency,
        "request_rate_per_s": work.request_rate_per_s,
        "burstiness": work.burstiness,
        "prompt_tokens_each": work.prompt_tokens,
        "output_tokens_each": work.output_tokens,
        "prefixes": work.prefixes,
        "prefix_tokens": work.prefix_tokens,
    }


def _as_served(shared: Mapping[str, Any], served: Served) -> dict[str, str | None]:
    """Version and command line of the server that really answered."""
    launch = served.launch
    return {
        "engine_version": served.version or shared["engine_version"],
        "launch_id": launch.launch_id if launch else None,
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
            "tok_s_per_gpu": _per_gpu(planned, outputs, duration),
        }
        | (whole_cell(planned, served, outputs, duration) if phase == "whole" else {})
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
    hits = part(ceiling_tokens(ordered, block_tokens(planned, served)), phase)
    return sum(hits) / sum(len(prompt.text) for prompt in part(ordered, phase))


def _per_gpu(planned: PlannedCell, outputs: int | None, duration_s: float | None) -> float | None:
    if planned.cell.lane != "gpu" or outputs is None or not duration_s:
        return None
    return outputs / duration_s / (planned.cell.engine.gpus * planned.cell.engine.replicas)


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


def _cross_check(served: Served) -> None:
    """The engines and the client must tell of the same requests."""
    finished = grown(served, "requests_finished")
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
