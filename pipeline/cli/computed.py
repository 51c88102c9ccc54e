"""`weighbridge run` for the lanes that are computed, not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipeline.cli.derived import compute_derived, derived_inputs
from pipeline.cli.modelled import compute_modelled, modelled_inputs
from pipeline.cli.published import compute_published, published_inputs
from pipeline.cli.simulated import compute_simulated, simulated_inputs
from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.schemas.computed import ComputedProfile
from pipeline.schemas.words import Lane
from pipeline.store.computed import Computation, is_current, write_computed

Say = Callable[[str], None]


@dataclass(frozen=True)
class ComputedLane:
    """How a lane is computed.

    Attributes:
        inputs: cheap; name to hash or version of everything that goes in, code included.
        compute: gives the tables; reports progress; may resume from files under `ws.local`.
    """

    inputs: Callable[[Workspace], Mapping[str, str]]
    compute: Callable[[Workspace, Say], Computation]


LANES: dict[Lane, ComputedLane] = {
    "derived": ComputedLane(derived_inputs, compute_derived),
    "published": ComputedLane(published_inputs, compute_published),
    "simulated": ComputedLane(simulated_inputs, compute_simulated),
    "modelled": ComputedLane(modelled_inputs, compute_modelled),
}


def show_computed(profile: ComputedProfile) -> str:
    """What the profile would do."""
    return (
        f"{profile.name}: {profile.title}\n\ncomputes the {profile.computes} lane, "
        f"about {profile.expected_s:.0f} s; nothing when no input changed"
    )


def compute(ws: Workspace, profile: ComputedProfile, say: Say, *, fresh: bool = False) -> None:
    """Compute the profile's lane and store its tables, unless nothing that goes in has changed.

    Raises:
        InputError: an input file is wrong, or no code computes the lane; stored tables stay.
    """
    lane = LANES.get(profile.computes)
    if lane is None:
        raise InputError(
            f"nothing computes the {profile.computes} lane",
            where=f"profile {profile.name}, field computes",
            next_step=f"known: {', '.join(LANES) or 'none'}",
        )
    inputs = lane.inputs(ws)
    if not fresh and is_current(ws, profile.computes, inputs):
        say(f"{profile.computes}: nothing that goes in has changed; --fresh computes all the same")
        return
    computation = lane.compute(ws, say)
    manifest = write_computed(ws, profile.computes, inputs, computation, f"weighbridge run {profile.name}")
    rows = ", ".join(f"{name} {table.rows}" for name, table in manifest.tables.items())
    say(f"{profile.computes}: {rows} rows in {manifest.duration_s:.1f} s")
