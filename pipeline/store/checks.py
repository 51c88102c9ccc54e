"""Checks that a finished run must pass before anything speaks from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pipeline.schemas.manifest import Manifest
from pipeline.schemas.observation import Observation

SHARES = ("prefix_hit_rate", "prefix_hit_ceiling", "kv_usage_peak")
LATENCIES = ("ttft", "tpot", "e2e")
# Ten observations must lie beyond a percentile.
REQUESTS_FOR = {"p50": 20, "p90": 100, "p99": 1000}
# Client and engine may differ by a request that was cut off at the edge of a phase, not by more.
TOKEN_TOLERANCE = 0.05


def check_run(rows: Sequence[Observation], manifest: Manifest) -> list[str]:
    """Reasons to quarantine a run; an empty list means that it may be used."""
    reasons = [*_whole_run(rows, manifest)]
    for row in rows:
        label = f"cell {row.cell_id} repeat {row.repeat} {row.phase}"
        reasons += [f"{label}: {reason}" for check in _ROW_CHECKS for reason in check(row)]
    return reasons


def _whole_run(rows: Sequence[Observation], manifest: Manifest) -> Iterator[str]:
    if not any(row.status == "ok" for row in rows):
        yield "no cell succeeded"
    identities = Counter((row.cell_id, row.repeat, row.phase) for row in rows)
    for (cell, repeat, phase), count in identities.items():
        if count > 1:
            yield f"cell {cell} repeat {repeat} {phase} is stored {count} times"
    if strangers := {row.run_id for row in rows} - {manifest.run_id}:
        yield f"rows of other runs: {', '.join(sorted(strangers))}"
    if strangers := {row.host_id for row in rows} - {manifest.host.host_id}:
        yield f"rows of other hosts: {', '.join(sorted(strangers))}"


def _status(row: Observation) -> Iterator[str]:
    if (row.status == "ok") != (row.failure is None):
        yield f"status {row.status} with failure {row.failure!r}"
    if row.status == "ok" and not row.requests_ok:
        yield "status ok without a request answered"


def _ranges(row: Observation) -> Iterator[str]:
    for name, value in row:
        if isinstance(value, (int, float)) and value < 0:
            yield f"{name} is {value}, below 0"
        elif name in SHARES and value is not None and value > 1:
            yield f"{name} is {value}, above 1"
    if row.imbalance is not None and row.imbalance < 1:
        yield f"imbalance is {row.imbalance}, below 1"


def _percentiles(row: Observation) -> Iterator[str]:
    for metric in LATENCIES:
        known = {name: getattr(row, f"{metric}_{name}_ms") for name in REQUESTS_FOR}
        known = {name: value for name, value in known.items() if value is not None}
        if list(known.values()) != sorted(known.values()):
            yield f"{metric} percentiles fall: {known}"
        for name in known:
            if (row.requests_ok or 0) < REQUESTS_FOR[name]:
                yield f"{metric}_{name}_ms from {row.requests_ok} requests, needs {REQUESTS_FOR[name]}"


def _counters(row: Observation) -> Iterator[str]:
    if None not in (row.requests, row.requests_ok, row.requests_failed):
        parts = (row.requests_ok or 0) + (row.requests_failed or 0)
        if parts != row.requests:
            yield f"{row.requests} requests sent, {parts} ended"
    cached, prompt = row.cached_tokens or 0, row.prompt_tokens
    if prompt is not None and cached > prompt and not row.preemptions:
        yield f"{row.cached_tokens} cached of {row.prompt_tokens} prompt tokens"
    if row.cached_tokens and not row.prefix_caching:
        yield f"{row.cached_tokens} cached tokens with prefix caching off"
    # The last token of a request may be scheduled once more without a preemption.
    if (row.recomputed_tokens or 0) > (row.requests_ok or 0) and row.preemptions == 0:
        yield f"{row.recomputed_tokens} tokens recomputed without a preemption"


def _output_tokens(row: Observation) -> Iterator[str]:
    if row.phase != "whole" or row.status != "ok" or row.output_tokens is None or row.requests_failed:
        return
    expected = (row.requests_ok or 0) * row.output_tokens_each
    if abs(row.output_tokens - expected) > TOKEN_TOLERANCE * expected:
        yield f"the engine counts {row.output_tokens} output tokens, the client {expected}"


_ROW_CHECKS: tuple[Callable[[Observation], Iterator[str]], ...] = (
    _status,
    _ranges,
    _percentiles,
    _counters,
    _output_tokens,
)
