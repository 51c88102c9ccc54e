"""Runs a plan: servers are shared by neighbouring cells, each finished cell goes to the sink at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Protocol

from pipeline.engines import Server
from pipeline.errors import EngineFailure, EnvironmentMissing, WeighbridgeError
from pipeline.lanes import serving
from pipeline.lanes.rows import RunContext
from pipeline.lanes.serving import Lane, Places
from pipeline.run.progress import Progress
from pipeline.schemas.identity import cell_id
from pipeline.schemas.launch import Launch
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.schemas.profile import Plan, PlannedCell

START_TRIES = 2


class Sink(Protocol):
    """Where finished cells go."""

    def append(self, rows: Sequence[Observation], requests: Sequence[RequestRow]) -> None:
        """Store one finished cell for good."""

    def launched(self, launches: Sequence[Launch]) -> None:
        """Keep how servers were started; a start that is known already changes nothing."""

    def done(self) -> set[tuple[str, int]]:
        """Cells and repeats that need not be measured again."""


def run_plan(
    plan: Plan, context: RunContext, sink: Sink, places: Places, say: Callable[[str], None], lane: Lane
) -> None:
    """Measure every cell of the plan that the sink does not hold yet."""
    done = sink.done()
    todo = [cell for cell in plan.cells if (cell_id(cell.cell, context.versions), cell.repeat) not in done]
    progress = Progress(plan, todo, say)
    for _, group in itertools.groupby(todo, lambda cell: (cell.repeat % 100, cell.server_key)):
        _Group(list(group), context, sink, places, progress, lane).run()
    progress.end()


class _Group:
    """Cells that share servers. Servers that die are started again for the cells that are left."""

    def __init__(
        self,
        cells: list[PlannedCell],
        context: RunContext,
        sink: Sink,
        places: Places,
        progress: Progress,
        lane: Lane,
    ) -> None:
        self._left, self._context, self._sink = cells, context, sink
        self._places, self._progress, self._lane = places, progress, lane

    def run(self) -> None:
        failed = 0
        while self._left:
            try:
                with ExitStack() as stack:
                    servers = self._start(stack)
                    failed = 0
                    self._serve(servers)
            except (EngineFailure, EnvironmentMissing) as error:
                failed += 1
                if failed >= START_TRIES or isinstance(error, EnvironmentMissing):
                    self._fail(self._left, error.message)
                    self._left = []

    def _start(self, stack: ExitStack) -> list[Server]:
        knobs = self._left[0].cell.engine
        self._progress.servers(knobs)
        servers = stack.enter_context(self._lane.servers_for(knobs, self._places))
        self._sink.launched([server.launch for server in servers if server.launch])
        return servers

    def _serve(self, servers: list[Server]) -> None:
        seen: set[str] = set()
        while self._left:
            planned = self._left[0]
            if self._would_remember(planned, servers, seen):
                return  # started again for the cells that are left
            self._progress.begin(planned)
            try:
                rows, requests = serving.measure(self._lane, self._context, planned, servers, self._places)
            except WeighbridgeError as error:
                self._left.pop(0)
                self._fail([planned], error.message)
                if not all(server.alive() for server in servers):
                    return
                continue
            self._left.pop(0)
            self._sink.append(rows, requests)
            self._progress.end_cell(planned, rows[0])

    def _would_remember(self, planned: PlannedCell, servers: list[Server], seen: set[str]) -> bool:
        """Whether the servers hold this cell's prompts from before and have no way to forget them."""
        prompts = f"{planned.cell.workload.seed} {planned.cell.workload.traffic}"
        known = prompts in seen and planned.cell.engine.prefix_caching
        seen.add(prompts)
        return known and not all(server.reset_prefix_cache() for server in servers)

    def _fail(self, cells: Iterable[PlannedCell], why: str) -> None:
        for planned in cells:
            row = serving.failure(self._context, planned, why, self._places)
            self._sink.append([row], [])
            self._progress.end_cell(planned, row)
