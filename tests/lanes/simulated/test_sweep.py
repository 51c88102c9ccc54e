"""The grid survives a kill: no cell lost, none twice, none of them simulated again."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.lanes.simulated.cells import GridCell, Traffic
from pipeline.lanes.simulated.grid import all_cells
from pipeline.lanes.simulated.serving import ROOFLINE, SERVINGS, Steps
from pipeline.lanes.simulated.simulated_cell import row
from pipeline.lanes.simulated.sweep import Batch, read_journal, sweep
from pipeline.schemas.simulated import FleetCellRow

STEPS = dict.fromkeys(SERVINGS, ROOFLINE)
CELLS = [
    GridCell("exchange", Traffic("unshared", float(rate), 2000), policy, 4, 8.0)
    for rate in range(1, 11)
    for policy in ("round_robin", "power_of_two")
]


class Ended:
    """A simulation that ended as told."""

    def __init__(self, unstable: bool = False) -> None:
        self.unstable, self.backlog_at_end = unstable, 700 if unstable else 0
        self.hit_rate = self.imbalance = self.utilisation = 0.5
        self.rejected = self.preemptions_total = 0
        self.replica_peak_kv_blocks = [10]

    def steady(self, _: float) -> "Ended":
        return self

    def percentile(self, _: str, share: float) -> float:
        return 10 * share


def simulated(batch: Batch, _: Steps) -> list[FleetCellRow]:
    return [row(cell, [Ended()] * 3) for cell in batch]


class KilledError(Exception):
    """Stands for a kill between two batches."""


def killed_after(batches: int) -> object:
    left = batches

    def work(batch: Batch, steps: Steps) -> list[FleetCellRow]:
        nonlocal left
        if left == 0:
            raise KilledError
        left -= 1
        return simulated(batch, steps)

    return work


def run(journal: Path, work: object) -> list[FleetCellRow]:
    return sweep(CELLS, STEPS, journal, lambda _: None, processes=0, work=work)  # type: ignore[arg-type]


def test_a_killed_grid_goes_on_without_a_lost_or_doubled_cell(tmp_path: Path) -> None:
    journal = tmp_path / "fleet.jsonl"
    with pytest.raises(KilledError):
        run(journal, killed_after(4))
    finished = set(read_journal(journal))
    again: list[str] = []

    def counted(batch: Batch, steps: Steps) -> list[FleetCellRow]:
        again.extend(cell.id for cell in batch)
        return simulated(batch, steps)

    rows = run(journal, counted)
    assert [each.cell for each in rows] == [cell.id for cell in CELLS]
    assert finished
    assert not finished & set(again)
    assert len(again) == len(set(again)) == len(CELLS) - len(finished)


def test_a_line_that_a_kill_cut_in_half_is_simulated_again(tmp_path: Path) -> None:
    journal = tmp_path / "fleet.jsonl"
    whole = run(journal, simulated)
    text = journal.read_bytes()
    journal.write_bytes(text[:-40])
    assert len(read_journal(journal)) == len(CELLS) - 1
    assert run(journal, simulated) == whole
    assert len(journal.read_bytes().splitlines()) == len(CELLS)


def test_the_grid_has_at_least_two_thousand_cells_each_with_a_name_of_its_own() -> None:
    cells = all_cells()
    assert len(cells) >= 2000
    assert len({cell.id for cell in cells}) == len(cells)
    assert all(len(cell.seeds) >= 3 for cell in cells)


def test_a_knob_left_at_its_default_changes_no_name() -> None:
    assert replace(CELLS[0], view_delay_ms=0.0).id == CELLS[0].id
    assert replace(CELLS[0], view_delay_ms=10.0).id != CELLS[0].id


def test_an_unstable_cell_is_a_row_with_its_reason_and_no_latency() -> None:
    found = row(CELLS[0], [Ended(), Ended(unstable=True), Ended(unstable=True)])
    assert found.status == "unstable"
    assert found.reason == (
        "1 requests/s offered, 700 of 2000 still waiting when arrivals end: "
        "the queue grows as long as it lasts"
    )
    assert (found.ttft_p50_ms, found.ttft_p99_ms, found.tpot_p50_ms, found.e2e_p50_ms) == (None,) * 4
