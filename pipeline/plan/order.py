"""The order of a run: rounds of all cells; within a round each set of servers serves all its cells."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.errors import InputError
from pipeline.plan.expand import expand, matches
from pipeline.plan.files import load_experiment
from pipeline.schemas.cell import Cell
from pipeline.schemas.profile import Experiment, Plan, PlannedCell, Profile, Selection
from pipeline.schemas.words import Engine

TWIN_BASE = 100


@dataclass(frozen=True)
class Machine:
    """What of a machine decides which cells it can measure.

    Attributes:
        cores: logical cores.
        gpus: number of GPUs; null plans as for one card of 80 GB, where there is none to ask.
        vram_gib: memory of the smallest of them, GiB.
        own_weights: size class to the name of the owner's weights that stand in for it.
    """

    cores: int
    gpus: int | None = None
    vram_gib: float | None = None
    own_weights: Mapping[str, str] = field(default_factory=dict)

    def with_own_weights(self, cell: Cell) -> Cell:
        """The cell, on the owner's weights where they stand in for its size class."""
        name = self.own_weights.get(cell.engine.model)
        if name is None or cell.engine.weights == "dummy":
            return cell
        engine = cell.engine.model_copy(update={"model": name, "weights": "own"})
        return cell.model_copy(update={"engine": engine})


def this_machine() -> Machine:
    """Cores only: GPUs are asked of the driver by who needs them."""
    return Machine(os.cpu_count() or 1)


def reason_to_leave_out(selection: Selection, machine: Machine) -> str | None:
    """Why a machine cannot measure an entry of a profile, None when it can."""
    if selection.min_cores > machine.cores:
        return f"it needs {selection.min_cores} cores, here are {machine.cores}"
    if selection.min_gpus > (1 if machine.gpus is None else machine.gpus):
        here = "the plan is for one" if machine.gpus is None else f"here are {machine.gpus}"
        return f"it needs {selection.min_gpus} GPUs, {here}"
    if machine.vram_gib is not None and selection.min_vram_gib > machine.vram_gib:
        return f"it needs a card of {selection.min_vram_gib:g} GiB, here are {machine.vram_gib:.0f}"
    return None


def plan(
    profile: Profile, machine: Machine | None = None, old_versions: Mapping[Engine, str] | None = None
) -> Plan:
    """All cells of the profile in measuring order.

    Args:
        profile: what to measure.
        machine: that will measure; this one's cores if left out.
        old_versions: engines whose core cells are measured with an older version too, in the same rounds.

    Repeats are rounds, so that slow drift of the machine spreads over all cells alike. A twin (A/A) follows
    its cell at once, in the round whose turn it is, so that the noise band samples the whole run.
    """
    once = _one_round(profile, machine or this_machine(), old_versions or {})
    rounds = [_round(once, number, profile.repeats) for number in range(1, profile.repeats + 1)]
    return Plan(profile=profile, cells=tuple(cell for cells in rounds for cell in cells))


def _one_round(
    profile: Profile, machine: Machine, old: Mapping[Engine, str]
) -> list[tuple[PlannedCell, bool]]:
    chosen: list[tuple[PlannedCell, bool]] = []
    for selection in profile.experiments:
        if reason_to_leave_out(selection, machine):
            continue
        experiment = load_experiment(selection.name)
        cells = [cell for cell in expand(experiment, profile.seed) if matches(cell, selection.only)]
        if not cells:
            raise InputError(
                f"no cell of {selection.name} is left by `only`",
                where=f"profile {profile.name}",
                next_step="name values that the experiment's grids hold",
            )
        for cell in cells:
            twinned = selection.twins is not None and matches(cell, selection.twins)
            own = machine.with_own_weights(cell)
            chosen.append((_planned(own, experiment, superseded=False), twinned))
            chosen += [
                (_planned(each, experiment, superseded=True), False) for each in _before(own, old, selection)
            ]
    return _grouped(chosen)


def _planned(cell: Cell, experiment: Experiment, *, superseded: bool) -> PlannedCell:
    return PlannedCell(
        cell=cell,
        repeat=1,
        twin_of_repeat=None,
        expected_s=experiment.expected_cell_s,
        extra_start_s=experiment.extra_start_s,
        superseded=superseded,
    )


def _before(cell: Cell, old: Mapping[Engine, str], selection: Selection) -> Iterator[Cell]:
    """A core cell as the version before served it."""
    version = old.get(cell.engine.name)
    if selection.core and version is not None:
        yield cell.model_copy(update={"engine": cell.engine.model_copy(update={"version": version})})


def _grouped(cells: list[tuple[PlannedCell, bool]]) -> list[tuple[PlannedCell, bool]]:
    order: dict[str, list[tuple[PlannedCell, bool]]] = {}
    for item in cells:
        order.setdefault(item[0].server_key, []).append(item)
    return [item for group in order.values() for item in group]


def _round(once: list[tuple[PlannedCell, bool]], number: int, rounds: int) -> list[PlannedCell]:
    cells: list[PlannedCell] = []
    twins_seen = 0
    for planned, twinned in once:
        cells.append(planned.model_copy(update={"repeat": number}))
        if twinned:
            if twins_seen % rounds == number - 1:
                cells.append(
                    planned.model_copy(update={"repeat": TWIN_BASE + number, "twin_of_repeat": number})
                )
            twins_seen += 1
    return cells
