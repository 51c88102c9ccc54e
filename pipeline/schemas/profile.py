"""Experiments and profiles as people write them, and the plan they become."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pipeline.schemas.base import Authored, Strict
from pipeline.schemas.cell import Cell
from pipeline.schemas.words import Lane

KnobValue = str | int | float | bool


class Experiment(Authored):
    """One TOML file in `pipeline/experiments`: a base cell and the grids that vary it."""

    name: str = Field(description="file name without .toml")
    title: str = Field(description="what it shows, in a few words")
    lane: Lane = Field(description="evidence lane")
    claims: tuple[str, ...] = Field(description="claims that its rows speak to")
    question: str = Field(description="the question the experiment answers")
    expected_cell_s: float = Field(gt=0, description="time of one cell on two cores, load generator included")
    watch_memory: bool = Field(False, description="sample memory and KV usage in every cell")
    engine: dict[str, KnobValue] = Field(description="engine knobs of every cell")
    workload: dict[str, KnobValue] = Field(description="workload of every cell")
    traffics: dict[str, dict[str, KnobValue]] = Field(
        default_factory=dict, description="named changes to the workload, usable in a grid as `traffic`"
    )
    grids: tuple[dict[str, tuple[KnobValue, ...]], ...] = Field(
        description="each grid is crossed in full; keys are engine.X, workload.X, policy or traffic"
    )


class Selection(Authored):
    """One experiment in a profile, whole or a part of it."""

    name: str = Field(description="experiment name")
    min_cores: int = Field(1, ge=1, description="left out on machines with fewer cores")
    only: dict[str, tuple[KnobValue, ...]] = Field(
        default_factory=dict, description="keep the cells whose knobs are among these values"
    )
    twins: dict[str, tuple[KnobValue, ...]] | None = Field(
        None, description="cells with these knobs are measured twice in a row (A/A), once a run"
    )


class Profile(Authored):
    """One TOML file in `pipeline/profiles`: which experiments, how often."""

    name: str = Field(description="file name without .toml")
    title: str = Field(description="what it is for, in a few words")
    lane: Lane = Field(description="evidence lane")
    repeats: int = Field(ge=1, description="rounds; each round measures every cell once")
    seed: int = Field(ge=0, description="seed of every workload")
    server_start_s: float = Field(gt=0, description="expected time to start and stop a set of servers")
    promotable: bool = Field(description="whether a run of it may be promoted and decide verdicts")
    experiments: tuple[Selection, ...] = Field(description="in order of measuring")


class PlannedCell(Strict):
    """A cell in its place in the run."""

    cell: Cell
    repeat: int = Field(description="from 1; a twin has 100 plus the number it doubles")
    twin_of_repeat: int | None
    expected_s: float

    @property
    def server_key(self) -> str:
        """Cells with equal keys can share running servers."""
        return self.cell.engine.model_dump_json()


class Plan(Strict):
    """All cells of a run in order."""

    profile: Profile
    cells: tuple[PlannedCell, ...]

    @property
    def server_starts(self) -> int:
        """How often a set of servers is started."""
        keys = [(planned.repeat % 100, planned.server_key) for planned in self.cells]
        return sum(1 for i, key in enumerate(keys) if i == 0 or key != keys[i - 1])

    @property
    def expected_s(self) -> float:
        """Expected duration of the whole run, seconds."""
        return self.server_starts * self.profile.server_start_s + sum(c.expected_s for c in self.cells)


def knob(cell: Cell, path: str) -> Any:
    """The value of `engine.X`, `workload.X`, `policy` or `traffic` of a cell."""
    if path == "policy":
        return cell.router.policy if cell.router else None
    if path == "traffic":
        return cell.workload.traffic
    part, _, name = path.partition(".")
    return getattr(getattr(cell, part), name)
