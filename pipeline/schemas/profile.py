"""Experiments and profiles as people write them, and the plan they become."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pipeline.schemas.base import Authored, Strict
from pipeline.schemas.cell import Cell
from pipeline.schemas.words import Engine, Lane

KnobValue = str | int | float | bool


class Experiment(Authored):
    """One TOML file in `pipeline/experiments`: a base cell and the grids that vary it."""

    name: str = Field(description="file name without .toml")
    title: str = Field(description="what it shows, in a few words")
    lane: Lane = Field(description="evidence lane")
    claims: tuple[str, ...] = Field(description="claims that its rows speak to")
    question: str = Field(description="the question the experiment answers")
    expected_cell_s: float = Field(gt=0, description="time of one cell, load generator included")
    extra_start_s: float = Field(0.0, ge=0, description="what its servers take longer to start than others")
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
    min_gpus: int = Field(0, ge=0, description="left out on machines with fewer GPUs")
    min_vram_gib: float = Field(0.0, ge=0, description="left out on cards with less memory, GiB")
    core: bool = Field(False, description="measured every night; the others take turns")
    only: dict[str, tuple[KnobValue, ...]] = Field(
        default_factory=dict, description="keep the cells whose knobs are among these values"
    )
    twins: dict[str, tuple[KnobValue, ...]] | None = Field(
        None, description="cells with these knobs are measured twice in a row (A/A), once a run"
    )


class EngineSource(Authored):
    """Where an engine comes from: a pinned version, and the image that holds it."""

    version: str = Field(description="pinned version")
    image: str = Field(description="container image by tag; {version} stands for the version")

    def image_of(self, version: str) -> str:
        """The image of a version."""
        return self.image.replace("{version}", version)


class Profile(Authored):
    """One TOML file in `pipeline/profiles`: which experiments, how often."""

    name: str = Field(description="file name without .toml")
    title: str = Field(description="what it is for, in a few words")
    lane: Lane = Field(description="evidence lane")
    repeats: int = Field(ge=1, description="rounds; each round measures every cell once")
    seed: int = Field(ge=0, description="seed of every workload")
    server_start_s: float = Field(gt=0, description="expected time to start and stop a set of servers")
    promotable: bool = Field(description="whether a run of it may be promoted and decide verdicts")
    night_limit_s: float | None = Field(
        None, gt=0, description="most expected time of one run; what does not fit takes turns"
    )
    engines: dict[Engine, EngineSource] = Field(
        default_factory=dict, description="engines of the GPU lane by name"
    )
    experiments: tuple[Selection, ...] = Field(description="in order of measuring")


class PlannedCell(Strict):
    """A cell in its place in the run."""

    cell: Cell
    repeat: int = Field(description="from 1; a twin has 100 plus the number it doubles")
    twin_of_repeat: int | None
    expected_s: float
    extra_start_s: float = 0.0
    superseded: bool = False

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
        return len(self._first_on_a_server())

    @property
    def expected_s(self) -> float:
        """Expected duration of the whole run, seconds."""
        return (
            self.server_starts * self.profile.server_start_s
            + sum(cell.extra_start_s for cell in self._first_on_a_server())
            + sum(cell.expected_s for cell in self.cells)
        )

    def _first_on_a_server(self) -> list[PlannedCell]:
        keys = [(planned.repeat % 100, planned.server_key) for planned in self.cells]
        return [cell for i, cell in enumerate(self.cells) if i == 0 or keys[i] != keys[i - 1]]


def knob(cell: Cell, path: str) -> Any:
    """The value of `engine.X`, `workload.X`, `policy` or `traffic` of a cell."""
    if path == "policy":
        return cell.router.policy if cell.router else None
    if path == "traffic":
        return cell.workload.traffic
    part, _, name = path.partition(".")
    return getattr(getattr(cell, part), name)
