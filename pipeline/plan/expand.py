"""Experiments become cells: every grid crossed, then filtered by the profile."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.schemas.cell import Cell
from pipeline.schemas.profile import Experiment, KnobValue, knob


def expand(experiment: Experiment, seed: int) -> list[Cell]:
    """All cells of an experiment, in grid order, without duplicates."""
    cells: list[Cell] = []
    for grid in experiment.grids:
        for values in itertools.product(*grid.values()):
            cell = _cell(experiment, dict(zip(grid, values, strict=True)), seed)
            if cell not in cells:
                cells.append(cell)
    return _with_own_prompts(experiment, cells) if experiment.lane == "gpu" else cells


def _with_own_prompts(experiment: Experiment, cells: list[Cell]) -> list[Cell]:
    """A seed for each workload: an engine that cannot forget must never see the prompts of another cell.

    Equal workloads keep equal seeds, so that engines and knobs are compared on the same requests.
    """
    order = list(dict.fromkeys(cell.workload for cell in cells))
    base = zlib.crc32(experiment.name.encode()) % 10_000 * 100
    changed = []
    for cell in cells:
        seed = cell.workload.seed * 1_000_000 + base + order.index(cell.workload)
        changed.append(cell.model_copy(update={"workload": cell.workload.model_copy(update={"seed": seed})}))
    return changed


def matches(cell: Cell, wanted: Mapping[str, tuple[KnobValue, ...]]) -> bool:
    """Whether every named knob of the cell has one of the wanted values."""
    return all(knob(cell, path) in values for path, values in wanted.items())


def _cell(experiment: Experiment, point: dict[str, KnobValue], seed: int) -> Cell:
    engine: dict[str, Any] = dict(experiment.engine)
    workload: dict[str, Any] = {"seed": seed, **experiment.workload}
    traffic = point.get("traffic")
    if traffic is not None:
        workload |= {"traffic": traffic} | _traffic(experiment, str(traffic))
    for path, value in point.items():
        part, _, name = path.partition(".")
        if part == "engine":
            engine[name] = value
        elif part == "workload":
            workload[name] = value
        elif path not in ("policy", "traffic"):
            raise InputError(
                f"unknown grid key {path!r}",
                where=f"experiment {experiment.name}",
                next_step="use engine.X, workload.X, policy or traffic",
            )
    return _checked(experiment, engine, workload, point.get("policy"))


def _traffic(experiment: Experiment, name: str) -> dict[str, KnobValue]:
    if name not in experiment.traffics:
        known = ", ".join(experiment.traffics) or "none"
        raise InputError(
            f"unknown traffic {name!r}", where=f"experiment {experiment.name}", next_step=f"known: {known}"
        )
    return experiment.traffics[name]


def _checked(
    experiment: Experiment, engine: dict[str, Any], workload: dict[str, Any], policy: KnobValue | None
) -> Cell:
    try:
        return Cell.model_validate(
            {
                "experiment": experiment.name,
                "lane": experiment.lane,
                "engine": engine,
                "router": None if policy is None else {"policy": policy},
                "workload": workload,
                "watch_memory": experiment.watch_memory,
            }
        )
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise InputError(
            f"a cell does not fit its schema: {problems}",
            where=f"experiment {experiment.name}",
            next_step="correct the knob in the experiment file",
        ) from None
