"""The cpu lane: real vLLM replicas, the real vllm-router, the real AIPerf, one cell at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.engines import Server, ServerSpec, VllmServer
from pipeline.engines.models import model_folder
from pipeline.engines.vllm import SERVED_NAME
from pipeline.errors import EngineFailure
from pipeline.lanes.rows import RunContext, failed_row, ok_rows, request_rows
from pipeline.lanes.served import Memory, Served
from pipeline.lanes.workers import LogReader
from pipeline.load import make_prompts, prompts_jsonl, run_aiperf
from pipeline.load.aiperf import LoadPlan
from pipeline.process import free_ports
from pipeline.routers import RouterDecisions, VllmRouter
from pipeline.routers.vllm_router import SESSION_HEADER
from pipeline.schemas.cell import Cell, EngineKnobs
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.schemas.profile import PlannedCell
from pipeline.telemetry.memory import MemoryWatch, members, rss_gib
from pipeline.telemetry.prometheus import scrape_one

START_LIMIT_S = 180.0
SETTLE_S = 2.0
LOG_FLUSH_S = 0.3


@dataclass(frozen=True)
class Places:
    """Folders of one run: artefacts and logs, and the notes of running groups."""

    work: Path
    notes: Path


@contextmanager
def servers_for(knobs: EngineKnobs, places: Places) -> Iterator[list[Server]]:
    """Equal replicas, each on a core of its own, healthy and probed; always stopped.

    Raises:
        EngineFailure: when one does not start or gives no completion.
    """
    servers: list[Server] = []
    cores = _cores(knobs.replicas)
    try:
        for index, port in enumerate(free_ports(knobs.replicas)):
            spec = ServerSpec(knobs, index, port, cores[index], places.work / "logs", places.notes)
            servers.append(VllmServer(spec))
        for server in servers:
            server.wait_healthy(START_LIMIT_S)
        for server in servers:
            server.probe()
        yield servers
    finally:
        for server in servers:
            server.stop()


def measure(
    context: RunContext, planned: PlannedCell, servers: Sequence[Server], places: Places
) -> tuple[list[Observation], list[RequestRow]]:
    """One cell on running servers: rows of all its phases, and its requests.

    Raises:
        WeighbridgeError: what went wrong; the caller stores it with `failure`.
    """
    started = datetime.now(UTC)
    for server in servers:
        server.reset_prefix_cache()
    with _router(planned.cell, servers, places) as router:
        served = _serve(planned, servers, router, places)
    rows = ok_rows(context, planned, started, served)
    return rows, request_rows(context, planned, served)


def failure(context: RunContext, planned: PlannedCell, why: str) -> Observation:
    """The row of a cell that failed."""
    work = planned.cell.workload
    dataset = prompts_jsonl(make_prompts(work), work.turns)
    return failed_row(context, planned, datetime.now(UTC), dataset, why)


def _cores(replicas: int) -> list[int | None]:
    """A core each where there are enough; a single replica takes core 0 and leaves the rest to the client."""
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return [available[i] if i < len(available) else None for i in range(replicas)]


@contextmanager
def _router(cell: Cell, servers: Sequence[Server], places: Places) -> Iterator[VllmRouter | None]:
    if cell.router is None:
        yield None
        return
    router = VllmRouter(cell.router.policy, [s.url for s in servers], places.work / "logs", places.notes)
    try:
        router.wait_ready()
        yield router
    finally:
        router.stop()


def _serve(
    planned: PlannedCell, servers: Sequence[Server], router: VllmRouter | None, places: Places
) -> Served:
    cell = planned.cell
    prompts = make_prompts(cell.workload)
    dataset = prompts_jsonl(prompts, cell.workload.turns)
    plan = _load_plan(planned, servers, router, dataset, places)
    readers = [LogReader(server.log) for server in servers]
    before = [server.counters() for server in servers]
    decided_before = router.decisions() if router else None
    watch = MemoryWatch(members([s.pid for s in servers]), lambda: _kv_usage(servers))
    rss_before = _settled_rss(servers) if cell.watch_memory else None
    limit_s = 60.0 + 10 * planned.expected_s
    if cell.watch_memory:
        with watch:
            load = run_aiperf(plan, places.notes, limit_s, lambda: _all_alive(servers, router))
    else:
        load = run_aiperf(plan, places.notes, limit_s, lambda: _all_alive(servers, router))
    _all_alive(servers, router)
    time.sleep(LOG_FLUSH_S)
    memory = None
    if cell.watch_memory:
        memory = Memory(rss_before, watch.rss_peak_gib, _settled_rss(servers), watch.kv_usage_peak)
    decided = _grown(decided_before, router.decisions()) if router and decided_before else None
    return Served(
        prompts,
        dataset,
        load,
        before,
        [s.counters() for s in servers],
        [r.new_text() for r in readers],
        decided,
        memory,
        servers,
    )


def _load_plan(
    planned: PlannedCell, servers: Sequence[Server], router: VllmRouter | None, dataset: bytes, places: Places
) -> LoadPlan:
    cell = planned.cell
    folder = places.work / "load"
    artifacts = folder / f"{time.time_ns()}"
    artifacts.mkdir(parents=True)
    path = artifacts / "dataset.jsonl"
    path.write_bytes(dataset)
    return LoadPlan(
        url=router.url if router else servers[0].url,
        model=SERVED_NAME,
        tokenizer=model_folder(cell.engine.model),
        dataset=path,
        artifacts=artifacts / "aiperf",
        workload=cell.workload,
        session_header=SESSION_HEADER if router else None,
    )


def _settled_rss(servers: Sequence[Server]) -> float:
    time.sleep(SETTLE_S)
    return rss_gib(members([server.pid for server in servers]))


def _kv_usage(servers: Sequence[Server]) -> float | None:
    values = [scrape_one(f"{server.url}/metrics", "vllm:kv_cache_usage_perc") for server in servers]
    return max((value for value in values if value is not None), default=None)


def _all_alive(servers: Sequence[Server], router: VllmRouter | None) -> None:
    for server in servers:
        if not server.alive():
            raise EngineFailure(
                "vLLM died while it was measured",
                where=f"log {server.log}",
                next_step="the cell is marked failed; the servers are started again for the next",
            )
    if router and not router.alive():
        raise EngineFailure(
            "vllm-router died while it was measured",
            where=router.url,
            next_step="the cell is marked failed; the next cell starts a new router",
        )


def _grown(before: RouterDecisions, after: RouterDecisions) -> RouterDecisions:
    def step(start: int | None, end: int | None) -> int | None:
        return None if end is None else end - (start or 0)

    return RouterDecisions(
        step(before.hits, after.hits),
        step(before.misses, after.misses),
        step(before.missing_tokens, after.missing_tokens),
    )
