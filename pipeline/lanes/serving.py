"""One cell on running servers, on whatever lane: its router, its load, and what was read beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pipeline.engines import Server
from pipeline.errors import EngineFailure
from pipeline.lanes.rows import RunContext, failed_row, ok_rows, request_rows
from pipeline.lanes.served import Memory, Served
from pipeline.lanes.workers import LogReader
from pipeline.load import LoadResult, make_prompts, prompts_jsonl, run_aiperf
from pipeline.load.aiperf import LoadPlan
from pipeline.paths import without_places
from pipeline.routers import RouterDecisions, VllmRouter
from pipeline.routers.vllm_router import SESSION_HEADER
from pipeline.schemas.cell import Cell, EngineKnobs
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.schemas.profile import PlannedCell
from pipeline.telemetry.prometheus import Sample

LOG_FLUSH_S = 0.3


@dataclass(frozen=True)
class Places:
    """Folders of one run: artefacts and logs, and the notes of running groups."""

    work: Path
    notes: Path


class Watch(Protocol):
    """What is sampled beside one load."""

    def around(self) -> AbstractContextManager[object]:
        """Sampling goes on while the block runs."""

    def memory(self) -> Memory | None:
        """What was seen, after the block."""


class Lane(Protocol):
    """How a lane starts servers and watches them; everything else is shared."""

    def servers_for(self, knobs: EngineKnobs, places: Places) -> AbstractContextManager[list[Server]]:
        """Equal replicas, healthy and probed; always stopped.

        Raises:
            EngineFailure: one does not start or gives no completion.
        """

    def watch(self, cell: Cell, servers: Sequence[Server], /) -> Watch:
        """A watch over one cell; it reads the memory at rest as it is made."""

    def tokenizer(self, knobs: EngineKnobs) -> Path:
        """Folder of the model's tokenizer."""

    def must_have_counters(self) -> bool:
        """Whether a cell without the engine's counters is a failed one."""


def measure(
    lane: Lane, context: RunContext, planned: PlannedCell, servers: Sequence[Server], places: Places
) -> tuple[list[Observation], list[RequestRow]]:
    """One cell on running servers: rows of all its phases, and its requests.

    Raises:
        WeighbridgeError: what went wrong; the caller stores it with `failure`.
    """
    started = datetime.now(UTC)
    for server in servers:
        server.reset_prefix_cache()
        server.begin_cell()
    with _router(planned.cell, servers, places) as router:
        served = _serve(lane, planned, servers, router, places)
    return ok_rows(context, planned, started, served), request_rows(context, planned, served)


def failure(context: RunContext, planned: PlannedCell, why: str, places: Places) -> Observation:
    """The row of a cell that failed; its reason names no folder of this machine."""
    work = planned.cell.workload
    dataset = prompts_jsonl(make_prompts(work), work.turns)
    return failed_row(context, planned, datetime.now(UTC), dataset, without_places(why, places.work))


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
    lane: Lane, planned: PlannedCell, servers: Sequence[Server], router: VllmRouter | None, places: Places
) -> Served:
    prompts = make_prompts(planned.cell.workload)
    dataset = prompts_jsonl(prompts, planned.cell.workload.turns)
    plan = _load_plan(lane, planned, servers, router, dataset, places)
    readers = [LogReader(server.log) for server in servers]
    before = _counters(lane, servers)
    decided_before = router.decisions() if router else None
    watch = lane.watch(planned.cell, servers)
    load = _load(watch, plan, planned, places, lambda: _all_alive(servers, router))
    _all_alive(servers, router)
    time.sleep(LOG_FLUSH_S)
    memory = watch.memory()
    decided = _grown(decided_before, router.decisions()) if router and decided_before else None
    return Served(
        prompts,
        dataset,
        load,
        before,
        _counters(lane, servers),
        [r.new_text() for r in readers],
        decided,
        memory,
        servers,
        servers[0].version() if servers[0].launch else None,
        servers[0].launch,
    )


def _load(
    watch: Watch, plan: LoadPlan, planned: PlannedCell, places: Places, alive: Callable[[], None]
) -> LoadResult:
    with watch.around():
        return run_aiperf(plan, places.notes, 60.0 + 10 * planned.expected_s, alive)


def _counters(lane: Lane, servers: Sequence[Server]) -> list[Sample]:
    """One reading of every server; a lane may do without, then what they count is missing."""
    found = []
    for server in servers:
        try:
            found.append(server.counters())
        except EngineFailure:
            if lane.must_have_counters() or not server.alive():
                raise
            found.append(Sample({}, {}))
    return found


def _load_plan(
    lane: Lane,
    planned: PlannedCell,
    servers: Sequence[Server],
    router: VllmRouter | None,
    dataset: bytes,
    places: Places,
) -> LoadPlan:
    artifacts = places.work / "load" / f"{time.time_ns()}"
    artifacts.mkdir(parents=True)
    path = artifacts / "dataset.jsonl"
    path.write_bytes(dataset)
    return LoadPlan(
        url=router.url if router else servers[0].url,
        model=servers[0].model_name(),
        tokenizer=lane.tokenizer(planned.cell.engine),
        dataset=path,
        artifacts=artifacts / "aiperf",
        workload=planned.cell.workload,
        session_header=SESSION_HEADER if router else None,
    )


def _all_alive(servers: Sequence[Server], router: VllmRouter | None) -> None:
    for server in servers:
        if not server.alive():
            cause = server.cause()
            raise EngineFailure(
                "the engine died while it was measured" + (f": {cause}" if cause else ""),
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
