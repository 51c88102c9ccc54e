"""The order of a run: rounds of all cells; within a round each set of servers serves all its cells."""

from __future__ import annotations

import os

from pipeline.errors import InputError
from pipeline.plan.expand import expand, matches
from pipeline.plan.files import load_experiment
from pipeline.schemas.profile import Plan, PlannedCell, Profile

TWIN_BASE = 100


def plan(profile: Profile, cores: int | None = None) -> Plan:
    """All cells of the profile in measuring order.

    Args:
        profile: what to measure.
        cores: of the machine that will measure; this one's if left out.

    Repeats are rounds, so that slow drift of the machine spreads over all cells alike. A twin (A/A) follows
    its cell at once, in the round whose turn it is, so that the noise band samples the whole run.
    """
    once = _one_round(profile, cores or os.cpu_count() or 1)
    rounds = [_round(once, number, profile.repeats) for number in range(1, profile.repeats + 1)]
    return Plan(profile=profile, cells=tuple(cell for cells in rounds for cell in cells))


def _one_round(profile: Profile, cores: int) -> list[tuple[PlannedCell, bool]]:
    chosen: list[tuple[PlannedCell, bool]] = []
    for selection in profile.experiments:
        if selection.min_cores > cores:
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
            planned = PlannedCell(
                cell=cell, repeat=1, twin_of_repeat=None, expected_s=experiment.expected_cell_s
            )
            chosen.append((planned, selection.twins is not None and matches(cell, selection.twins)))
    return _grouped(chosen)


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
