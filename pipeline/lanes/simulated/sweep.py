"""Run many cells in several processes, keep each finished one, and go on from there after a stop.

A finished cell is one line of a journal named by the hash of the inputs, so a changed input starts anew. A
line that a killed process left half written is dropped and its cell is simulated again.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from pipeline.lanes.simulated.cells import GridCell, Traffic
from pipeline.lanes.simulated.serving import Steps
from pipeline.schemas.simulated import FleetCellRow

Say = Callable[[str], None]
Batch = tuple[GridCell, ...]
Work = Callable[[Batch, Steps], list[FleetCellRow]]
ByServing = Mapping[str, Steps]

BATCH = 8
"""Cells of a batch: a stop loses at most the batches in flight."""
SAY_EVERY_S = 10.0


def run_batch(batch: Batch, steps: Steps) -> list[FleetCellRow]:
    """Simulate cells that share their traffic; each seed's workload is made once."""
    from functools import cache  # noqa: PLC0415 - a worker loads what it needs once it runs

    from pipeline.lanes.simulated.simulated_cell import simulate_cell  # noqa: PLC0415
    from pipeline.lanes.simulated.workloads import workload  # noqa: PLC0415

    made = cache(lambda seed: workload(batch[0].traffic, seed))
    return [simulate_cell(cell, made, steps) for cell in batch]


def sweep(
    cells: Sequence[GridCell],
    steps: ByServing,
    journal: Path,
    say: Say,
    *,
    processes: int | None = None,
    work: Work = run_batch,
) -> list[FleetCellRow]:
    """Rows of all cells, in their order.

    Args:
        cells: the grid.
        steps: step times by serving.
        journal: file that keeps finished cells; the caller removes it once the rows are stored.
        say: told about progress.
        processes: worker processes; all cores if null, 0 runs in this process.
        work: simulates a batch; tests give their own.
    """
    journal.parent.mkdir(parents=True, exist_ok=True)
    done = read_journal(journal)
    open_cells = [cell for cell in cells if cell.id not in done]
    if done:
        say(f"{len(cells) - len(open_cells)} of {len(cells)} cells are finished; going on from there")
    started, said = time.monotonic(), time.monotonic()
    with journal.open("a", encoding="utf-8") as kept:
        for rows in _finished(batches(open_cells), steps, work, processes):
            for row in rows:
                kept.write(row.model_dump_json() + "\n")
                done[row.cell] = row
            kept.flush()
            os.fsync(kept.fileno())
            if time.monotonic() - said > SAY_EVERY_S:
                said = time.monotonic()
                say(f"{sum(cell.id in done for cell in cells)} of {len(cells)} cells, {said - started:.0f} s")
    return [done[cell.id] for cell in cells]


def batches(cells: Sequence[GridCell]) -> list[Batch]:
    """Cells of equal traffic together, the largest fleets first so that no core is left with them."""
    groups: dict[tuple[Traffic, str], list[GridCell]] = {}
    for cell in cells:
        groups.setdefault((cell.traffic, cell.serving), []).append(cell)
    cut = [tuple(group[i : i + BATCH]) for group in groups.values() for i in range(0, len(group), BATCH)]
    return sorted(cut, key=lambda batch: -batch[0].traffic.requests * len(batch))


def read_journal(path: Path) -> dict[str, FleetCellRow]:
    """Finished cells by id. A half-written last line is cut off, so that the next one starts clean."""
    if not path.exists():
        return {}
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        path.write_bytes(whole)
    return {row.cell: row for row in map(FleetCellRow.model_validate_json, whole.splitlines())}


def _finished(
    work_list: Sequence[Batch], steps: ByServing, work: Work, processes: int | None
) -> Iterator[list[FleetCellRow]]:
    if processes == 0:
        yield from (work(batch, steps[batch[0].serving]) for batch in work_list)
        return
    # Fresh processes: a fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=context) as pool:
        running: set[Future[list[FleetCellRow]]] = set()
        try:
            running = {pool.submit(work, batch, steps[batch[0].serving]) for batch in work_list}
            while running:
                ready, running = wait(running, return_when=FIRST_COMPLETED)
                for each in ready:
                    yield each.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def journal_name(digest: str) -> str:
    """File name of the journal of these inputs."""
    return f"fleet-{digest[:16]}.jsonl"
