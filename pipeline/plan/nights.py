"""Which part of a long profile is measured tonight: a core, and the rest by the age of its last good rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pipeline.plan.expand import expand, matches
from pipeline.plan.files import load_experiment
from pipeline.plan.order import Machine, plan, reason_to_leave_out
from pipeline.schemas.identity import series_id
from pipeline.schemas.profile import Plan, Profile, Selection
from pipeline.schemas.words import Engine

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Unit:
    """One entry of the profile: cells that are compared with each other, so they share a night."""

    selection: Selection
    expected_s: float
    series: frozenset[str]
    last_good: datetime | None

    @property
    def label(self) -> str:
        """Its experiment, with what narrows it."""
        narrowed = ", ".join(str(value) for values in self.selection.only.values() for value in values)
        return f"{self.selection.name} ({narrowed})" if narrowed else self.selection.name


@dataclass(frozen=True)
class Night:
    """Tonight's plan, and what is left for the nights after it.

    Attributes:
        plan: cells in order.
        chosen: units of tonight, core first.
        waiting: units of later nights, oldest first.
        left_out: entries that this machine cannot measure, with the reason.
        within_nights: every unit is measured at least once in so many nights.
        old_versions: engine to the version before, measured beside the new one tonight.
    """

    plan: Plan
    chosen: tuple[Unit, ...]
    waiting: tuple[Unit, ...]
    left_out: tuple[tuple[str, str], ...]
    within_nights: int
    old_versions: Mapping[Engine, str]


def plan_night(
    profile: Profile,
    machine: Machine,
    last_good: Mapping[str, datetime],
    old_versions: Mapping[Engine, str],
    fixed: frozenset[str] | None = None,
) -> Night:
    """Tonight's part of a profile.

    Args:
        profile: with a limit on one night; without one, everything is planned.
        machine: that will measure.
        last_good: series of a cell to the start of its newest good row.
        old_versions: engines whose version was bumped since their last good rows, with the old version.
        fixed: labels of the units to measure, where an interrupted night goes on; chosen by age if null.
    """
    left_out = [
        (_label(each), reason)
        for each in profile.experiments
        if (reason := reason_to_leave_out(each, machine))
    ]
    possible = [each for each in profile.experiments if not reason_to_leave_out(each, machine)]
    units = [_unit(profile, each, machine, last_good) for each in possible]
    bump_s = _expected(profile, [u.selection for u in units if u.selection.core], machine, old_versions)
    room_s = (profile.night_limit_s or float("inf")) - bump_s
    chosen, waiting = choose(units, room_s)
    if fixed is not None:
        chosen, waiting = ([u for u in units if (u.label in fixed) is inside] for inside in (True, False))
    tonight = profile.model_copy(
        update={"experiments": tuple(each for each in profile.experiments if each in _selections(chosen))}
    )
    plain_s = _expected(profile, [u.selection for u in units if u.selection.core], machine, {})
    turns = cycle(units, (profile.night_limit_s or float("inf")) - plain_s)
    return Night(
        plan(tonight, machine, old_versions),
        tuple(chosen),
        tuple(waiting),
        tuple(left_out),
        turns,
        old_versions,
    )


def choose(units: Sequence[Unit], room_s: float) -> tuple[list[Unit], list[Unit]]:
    """(tonight, later): the core, then oldest first whatever still fits into what the core leaves.

    Args:
        units: all that can be measured here.
        room_s: expected time that the core leaves.
    """
    chosen = [unit for unit in units if unit.selection.core]
    rest = sorted((u for u in units if not u.selection.core), key=lambda unit: unit.last_good or NEVER)
    later = []
    for number, unit in enumerate(rest):
        # The oldest always goes, or one that is too long for a night would wait for ever.
        if unit.expected_s <= room_s or number == 0:
            chosen.append(unit)
            room_s -= unit.expected_s
        else:
            later.append(unit)
    return chosen, later


def cycle(units: Sequence[Unit], room_s: float) -> int:
    """Most nights from one measurement of a unit to its next, and from an empty store to its first."""
    rest = [unit for unit in units if not unit.selection.core]
    last = [0] * len(rest)
    widest = 1
    for night in range(1, 3 * len(rest) + 2):
        days = [NEVER + timedelta(days=day) for day in last]
        aged = [replace(unit, last_good=day) for unit, day in zip(rest, days, strict=True)]
        chosen, _ = choose(aged, room_s)
        for number, unit in enumerate(aged):
            if unit in chosen:
                widest = max(widest, night - last[number])
                last[number] = night
    return widest


def _unit(
    profile: Profile, selection: Selection, machine: Machine, last_good: Mapping[str, datetime]
) -> Unit:
    experiment = load_experiment(selection.name)
    cells = [cell for cell in expand(experiment, profile.seed) if matches(cell, selection.only)]
    series = frozenset(series_id(machine.with_own_weights(cell)) for cell in cells)
    known = [last_good.get(each) for each in series]
    oldest = None if None in known else min(each for each in known if each)
    return Unit(selection, _expected(profile, [selection], machine, {}), series, oldest)


def _expected(
    profile: Profile, selections: Sequence[Selection], machine: Machine, old: Mapping[Engine, str]
) -> float:
    part = profile.model_copy(update={"experiments": tuple(selections)})
    return plan(part, machine, old).expected_s


def _selections(units: Sequence[Unit]) -> list[Selection]:
    return [unit.selection for unit in units]


def _label(selection: Selection) -> str:
    return Unit(selection, 0.0, frozenset(), None).label
