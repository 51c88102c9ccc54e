"""Runs a plan: servers are shared by neighbouring cells, each finished cell goes to the sink at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Protocol

from pipeline.engines import Server
from pipeline.errors import EngineFailure, WeighbridgeError
from pipeline.lanes import cpu
from pipeline.lanes.rows import RunContext
from pipeline.run.progress import Progress
from pipeline.schemas.identity import cell_id
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.schemas.profile import Plan, PlannedCell

START_TRIES = 2


class Sink(Protocol):
    """Where finished cells go."""

    def append(self, rows: Sequence[Observation], requests: Sequence[RequestRow]) -> None:
        """Store one finished cell for good."""

    def done(self) -> set[tuple[str, int]]:
        """Cells and repeats that need not be measured again."""


def run_plan(
    plan: Plan, context: RunContext, sink: Sink, places: cpu.Places, say: Callable[[str], None]
) -> None:
    """Measure every cell of the plan that the sink does not hold yet."""
    done = sink.done()
    todo = [cell for cell in plan.cells if (cell_id(cell.cell, context.versions), cell.repeat) not in done]
    progress = Progress(plan, todo, say)
    for _, group in itertools.groupby(todo, lambda cell: (cell.repeat % 100, cell.server_key)):
        _Group(list(group), context, sink, places, progress).run()
    progress.end()


class _Group:
    """Cells that share servers. Servers that die are started again for the cells that are left."""

    def __init__(
        self,
        cells: list[PlannedCell],
        context: RunContext,
        sink: Sink,
        places: cpu.Places,
        progress: Progress,
    ) -> None:
        self._left, self._context, self._sink = cells, context, sink
        self._places, self._progress = places, progress

    def run(self) -> None:
        starts = 0
        while self._left:
            starts += 1
            try:
                with ExitStack() as stack:
                    servers = self._start(stack)
                    self._serve(servers)
            except EngineFailure as error:
                if starts >= START_TRIES:
                    self._fail(self._left, error.message)
                    self._left = []

    def _start(self, stack: ExitStack) -> list[Server]:
        knobs = self._left[0].cell.engine
        self._progress.servers(knobs)
        return stack.enter_context(cpu.servers_for(knobs, self._places))

    def _serve(self, servers: list[Server]) -> None:
        while self._left:
            planned = self._left[0]
            self._progress.begin(planned)
            try:
                rows, requests = cpu.measure(self._context, planned, servers, self._places)
            except WeighbridgeError as error:
                self._left.pop(0)
                self._fail([planned], error.message)
                if not all(server.alive() for server in servers):
                    return
                continue
            self._left.pop(0)
            self._sink.append(rows, requests)
            self._progress.end_cell(planned, rows[0])

    def _fail(self, cells: Iterable[PlannedCell], why: str) -> None:
        for planned in cells:
            row = cpu.failure(self._context, planned, why)
            self._sink.append([row], [])
            self._progress.end_cell(planned, row)
