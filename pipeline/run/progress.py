"""Progress of a run in plain lines: what is measured, what came out, how long is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pipeline.schemas.cell import Cell, EngineKnobs
from pipeline.schemas.observation import Observation
from pipeline.schemas.profile import Plan, PlannedCell


class Progress:
    """Says one line a cell. The time left scales the plan's expectation by the pace so far."""

    def __init__(self, plan: Plan, todo: Sequence[PlannedCell], say: Callable[[str], None]) -> None:
        self._say, self._total, self._finished = say, len(todo), 0
        self._rest_s = Plan(profile=plan.profile, cells=tuple(todo)).expected_s
        self._started, self._expected_done_s = time.monotonic(), 0.0
        self._start_s = plan.profile.server_start_s
        skipped = len(plan.cells) - len(todo)
        if skipped:
            say(f"{skipped} of {len(plan.cells)} cells are already measured")
        say(f"{self._total} cells to measure, about {clock(self._rest_s)}")

    def servers(self, knobs: EngineKnobs) -> None:
        """A set of servers is being started."""
        self._expected_done_s += self._start_s
        pool = f", pool {knobs.kv_pool_blocks} blocks" if knobs.kv_pool_blocks else ""
        self._say(f"starting {knobs.replicas} x {knobs.name} ({knobs.model}{pool})")

    def begin(self, planned: PlannedCell) -> None:
        """A cell is being measured."""

    def end_cell(self, planned: PlannedCell, row: Observation) -> None:
        """A cell is stored."""
        self._finished += 1
        self._expected_done_s += planned.expected_s
        elapsed = time.monotonic() - self._started
        pace = elapsed / self._expected_done_s
        left = max(0.0, (self._rest_s - self._expected_done_s) * pace)
        self._say(
            f"[{self._finished}/{self._total}] {label(planned.cell)} repeat {planned.repeat}: {result(row)}"
            f" | {clock(elapsed)} gone, about {clock(left)} left"
        )

    def end(self) -> None:
        """The plan is done."""
        self._say(f"measured {self._finished} cells in {clock(time.monotonic() - self._started)}")


def label(cell: Cell) -> str:
    """A cell in a few words."""
    words = [cell.experiment, cell.workload.traffic, f"concurrency {cell.workload.concurrency}"]
    if cell.router:
        words.insert(1, cell.router.policy)
    if cell.engine.kv_pool_blocks:
        words.append(f"pool {cell.engine.kv_pool_blocks}")
    return ", ".join(words)


def result(row: Observation) -> str:
    """What came out of a cell, in a few words."""
    if row.status != "ok":
        return f"FAILED, {(row.failure or '').splitlines()[0]}"
    parts = [f"ttft p50 {row.ttft_p50_ms:.0f} ms" if row.ttft_p50_ms is not None else "ttft n/a"]
    if row.preemptions:
        parts.append(f"{row.preemptions} preemptions")
    if row.prefix_hit_rate:
        parts.append(f"hit rate {row.prefix_hit_rate:.3f}")
    if row.router_missing_tokens:
        parts.append(f"router without token ids {row.router_missing_tokens} times")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
