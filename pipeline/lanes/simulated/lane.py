"""All tables of the simulated lane, from step tables, prices and links that the command hands in."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.lanes.simulated.capacity import capacity_row, cases
from pipeline.lanes.simulated.cascade import cascade_rows
from pipeline.lanes.simulated.exchange import exchange_rows
from pipeline.lanes.simulated.experts import moe_rows
from pipeline.lanes.simulated.grid import all_cells
from pipeline.lanes.simulated.regional_cache import region_rows
from pipeline.lanes.simulated.serving import ROOFLINE, SERVINGS, Steps
from pipeline.lanes.simulated.steps import step_rows
from pipeline.lanes.simulated.sweep import sweep
from pipeline.schemas.base import Strict
from pipeline.schemas.simulated import FleetCapacityRow, FleetCascadeRow, FleetMoeRow, FleetRegionRow

Say = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """What the lane is given by earlier lanes.

    Attributes:
        usd_per_gpu_hour: price of an H100, USD.
        links: links between nodes, name to GB/s a chip.
        steps: step times by serving.
    """

    usd_per_gpu_hour: float
    links: Mapping[str, float]
    steps: Mapping[str, Steps] = field(default_factory=lambda: dict.fromkeys(SERVINGS, ROOFLINE))


def compute_tables(given: Given, journal: Path, say: Say) -> dict[str, Iterable[Strict]]:
    """Rows of every table.

    Args:
        given: what earlier lanes know.
        journal: keeps finished cells of the grid until the tables are stored.
        say: told about progress.
    """
    cells = sweep(all_cells(), given.steps, journal, say)
    say("grid done; capacity, cascade, regional caches and experts")
    rows: dict[str, Iterable[Strict]] = {
        "fleet_cells": cells,
        "fleet_exchange": exchange_rows(cells),
        "fleet_steps": list(step_rows(given.steps)),
    }
    return rows | _side_by_side(given)


def _side_by_side(given: Given) -> dict[str, Iterable[Strict]]:
    """What is not a grid of cells, in as many processes as there are cores."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        capacity = [pool.submit(_capacity, number, given) for number in range(len(cases()))]
        cascade, regions = pool.submit(_cascade, given), pool.submit(_regions, given)
        experts = pool.submit(_experts, given)
        return {
            "fleet_capacity": [each.result() for each in capacity],
            "fleet_cascade": cascade.result(),
            "fleet_regions": regions.result(),
            "fleet_moe": experts.result(),
        }


def _capacity(number: int, given: Given) -> FleetCapacityRow:
    case = cases()[number]
    return capacity_row(case, given.steps[case.serving], given.usd_per_gpu_hour)


def _cascade(given: Given) -> list[FleetCascadeRow]:
    return list(cascade_rows(given.steps, given.usd_per_gpu_hour))


def _regions(_: Given) -> list[FleetRegionRow]:
    return list(region_rows())


def _experts(given: Given) -> list[FleetMoeRow]:
    return list(moe_rows(given.links))
