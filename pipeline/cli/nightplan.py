"""What a night of the gpu lane would be, in words: turns, what waits, and what this machine lacks."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.cli.gpu_bench import cards_of, missing, settings_of
from pipeline.paths import Workspace
from pipeline.plan import Night, Unit
from pipeline.run.progress import clock
from pipeline.schemas.profile import Profile


def show_night(ws: Workspace, profile: Profile, night: Night) -> str:
    """Rotation, waiting units and what is missing on this machine."""
    cards = cards_of(settings_of(ws))
    lines = [_machine(ws, profile), "", "tonight"]
    lines += [_unit(unit) for unit in night.chosen]
    lines += ["", "later nights, oldest first"] if night.waiting else []
    lines += [_unit(unit) for unit in night.waiting]
    lines += ["", f"every cell is measured at least once in {night.within_nights} nights"]
    lines += [
        f"{engine}: {old} is measured beside {profile.engines[engine].version} tonight"
        for engine, old in night.old_versions.items()
    ]
    lines += [f"left out: {label}, {reason}" for label, reason in night.left_out]
    lacks = missing(ws, profile, night.plan, cards)
    lines += ["", "missing on this machine" if lacks else "nothing is missing on this machine"]
    return "\n".join([*lines, *(f"  {each}" for each in lacks)])


def _machine(ws: Workspace, profile: Profile) -> str:
    cards = cards_of(settings_of(ws))
    limit = clock(profile.night_limit_s) if profile.night_limit_s else "no"
    if not cards:
        return f"planned as for one card of 80 GB; a night has {limit} at most"
    names = ", ".join(f"{card.name} {card.memory_gib:.0f} GiB" for card in cards)
    return f"planned for {names}; a night has {limit} at most"


def _unit(unit: Unit) -> str:
    kind = "core" if unit.selection.core else "turn"
    age = "never measured here"
    if unit.last_good:
        days = (datetime.now(UTC) - unit.last_good).days
        age = f"last good rows {days} days old"
    return f"  {kind}  {unit.label:<34} {clock(unit.expected_s):>8}  {age}"
