"""AIPerf as a process: the command line, one run, and its per-request file as checked rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.environments import environment
from pipeline.errors import LoadFailure
from pipeline.process import ProcessGroup, child_environment
from pipeline.schemas.cell import Workload

POLL_S = 0.25
LEAST_ANSWERED = 0.98


@dataclass(frozen=True)
class SentRequest:
    """One answered or failed request as the client saw it; times in ms, instants in ns since the epoch."""

    request_id: str
    session_id: str
    turn: int
    start_ns: int
    end_ns: int
    error: str | None
    ttft_ms: float | None
    tpot_ms: float | None
    e2e_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


@dataclass(frozen=True)
class LoadResult:
    """All requests of a cell in the order they were sent."""

    requests: tuple[SentRequest, ...]

    @property
    def answered(self) -> tuple[SentRequest, ...]:
        """Those that ended without an error."""
        return tuple(r for r in self.requests if r.error is None)


@dataclass(frozen=True)
class LoadPlan:
    """What one AIPerf run needs."""

    url: str
    model: str
    tokenizer: Path
    dataset: Path
    artifacts: Path
    workload: Workload
    session_header: str | None


def command(plan: LoadPlan) -> list[str]:
    """The command line. One client process: more would take the cores from the engines they measure.

    AIPerf's own scraping is off: vllm-router counts those reads as routing decisions. Sessions go through
    the chat endpoint, because AIPerf's completions endpoint takes one turn only.
    """
    work = plan.workload
    extra = {
        "max_tokens": work.output_tokens,
        "min_tokens": work.output_tokens,
        "ignore_eos": "true",
        "skip_special_tokens": "false",
    }
    line = [
        str(environment("aiperf").bin("aiperf")),
        "profile",
        "--model",
        plan.model,
        "--url",
        plan.url,
        "--endpoint-type",
        "chat" if work.turns > 1 else "completions",
        "--streaming",
        "--tokenizer",
        str(plan.tokenizer),
        "--input-file",
        str(plan.dataset),
        "--dataset-sampling-strategy",
        "sequential",
        "--custom-dataset-type",
        "multi_turn" if work.turns > 1 else "single_turn",
        "--random-seed",
        str(work.seed),
        "--use-server-token-count",
        "--ui",
        "none",
        "--no-server-metrics",
        "--no-gpu-telemetry",
        "--workers-max",
        "1",
        "--record-processor-service-count",
        "1",
        "--artifact-dir",
        str(plan.artifacts),
        "--concurrency",
        str(work.concurrency),
    ]
    count = ["--num-conversations", str(work.requests // work.turns)] if work.turns > 1 else []
    line += count or ["--request-count", str(work.requests)]
    for key, value in extra.items():
        line += ["--extra-inputs", f"{key}:{value}"]
    if work.request_rate_per_s is not None:
        line += [
            "--request-rate",
            str(work.request_rate_per_s),
            "--arrival-pattern",
            "gamma",
            "--arrival-smoothness",
            str(work.burstiness or 1.0),
        ]
    if plan.session_header:
        line += ["--session-header", plan.session_header]
    return line


def run_aiperf(plan: LoadPlan, notes: Path, limit_s: float, watch: Callable[[], None]) -> LoadResult:
    """Send the requests and return them.

    Args:
        plan: what to send and where.
        notes: folder in which the running process is noted.
        limit_s: seconds after which it is stopped.
        watch: called a few times a second; may raise to end the run early.

    Raises:
        LoadFailure: when AIPerf fails, runs over `limit_s` or leaves no complete file.
    """
    # A local tokenizer folder is taken only while HF_HUB_OFFLINE is unset; nothing is looked up with it.
    variables = child_environment({}, without=("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    log = plan.artifacts.parent / "aiperf.log"
    group = ProcessGroup(command(plan), variables, log, notes)
    try:
        status = _wait(group, limit_s, watch)
    finally:
        group.stop(wait_s=3.0)
    if status != 0:
        raise LoadFailure(f"AIPerf ended with status {status}", where=str(log), next_step=group.log_tail(6))
    return read_result(plan.artifacts, plan.workload.requests)


def _wait(group: ProcessGroup, limit_s: float, watch: Callable[[], None]) -> int:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        status = group.wait(POLL_S)
        if status is not None:
            return status
        watch()
    raise LoadFailure(
        f"AIPerf did not end within {limit_s:.0f} s",
        where=str(group.log),
        next_step="is the engine stuck? see its log; the cell is marked failed",
    )


def read_result(artifacts: Path, expected: int) -> LoadResult:
    """The per-request file of a finished run.

    Raises:
        LoadFailure: no file, half a file, fewer records than requests, or more than 2 % errors.
    """
    path = artifacts / "profile_export.jsonl"
    if not path.exists():
        raise LoadFailure(
            "AIPerf left no per-request file", where=str(path), next_step="see aiperf.log beside it"
        )
    requests = sorted(
        (_record(path, n, line) for n, line in enumerate(_lines(path), 1)), key=lambda r: r.start_ns
    )
    if len(requests) < expected:
        raise LoadFailure(
            f"AIPerf returned {len(requests)} of {expected} requests",
            where=str(path),
            next_step="see aiperf.log beside it; the cell is marked failed",
        )
    result = LoadResult(tuple(requests))
    errors = [request.error for request in requests if request.error is not None]
    if len(result.answered) < LEAST_ANSWERED * len(requests):
        count = "all" if not result.answered else f"{len(errors)} of"
        raise LoadFailure(
            f"{count} {len(requests)} requests failed: {errors[0]}",
            where=str(path),
            next_step="see the engine's log; the cell is marked failed",
        )
    return result


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        raise LoadFailure(
            "AIPerf's per-request file ends in the middle of a line",
            where=str(path),
            next_step="the disk may be full; the cell is marked failed",
        )
    return [line for line in text.splitlines() if line.strip()]


def _record(path: Path, number: int, line: str) -> SentRequest:
    try:
        record = json.loads(line)
        about, metrics, error = record["metadata"], record.get("metrics") or {}, record.get("error")
        return SentRequest(
            request_id=about["x_request_id"],
            session_id=about["conversation_id"],
            turn=int(about["turn_index"]),
            start_ns=int(about["request_start_ns"]),
            end_ns=int(about["request_end_ns"]),
            error=None if error is None else _error_text(error),
            ttft_ms=_metric(metrics, "time_to_first_token", "ms"),
            tpot_ms=_metric(metrics, "inter_token_latency", "ms"),
            e2e_ms=_metric(metrics, "request_latency", "ms"),
            input_tokens=_count(metrics, "usage_prompt_tokens"),
            output_tokens=_count(metrics, "usage_completion_tokens"),
            cached_tokens=_count(metrics, "usage_prompt_cache_read_tokens"),
        )
    except (ValueError, KeyError, TypeError) as problem:
        raise LoadFailure(
            f"AIPerf's record cannot be read: {problem!r}",
            where=f"{path}, line {number}",
            next_step="is the pinned AIPerf installed? `weighbridge env list`",
        ) from None


def _error_text(error: Any) -> str:
    return str(error.get("message") or error)[:300] if isinstance(error, dict) else str(error)[:300]


def _metric(metrics: dict[str, Any], name: str, unit: str) -> float | None:
    entry = metrics.get(name)
    if entry is None:
        return None
    if entry["unit"] != unit:
        raise ValueError(f"{name} is in {entry['unit']}, not {unit}")
    return float(entry["value"])


def _count(metrics: dict[str, Any], name: str) -> int | None:
    value = _metric(metrics, name, "tokens")
    return None if value is None else int(value)
