"""All tables of the simulated lane, from prices, links and step times that the command hands in."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from pipeline.lanes.simulated.experts import moe_rows
from pipeline.lanes.simulated.regional_cache import region_rows
from pipeline.schemas.base import Strict
from pipeline.schemas.simulated import FleetMoeRow, FleetRegionRow

Say = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """What the lane is given by earlier lanes.

    Attributes:
        links: links between nodes, name to GB/s a chip.
    """

    links: Mapping[str, float]


def compute_tables(given: Given) -> dict[str, Iterable[Strict]]:
    """Rows of every table.

    Args:
        given: what earlier lanes know.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        regions, experts = pool.submit(_regions), pool.submit(_experts, given)
        return {"fleet_regions": regions.result(), "fleet_moe": experts.result()}


def _regions() -> list[FleetRegionRow]:
    return list(region_rows())


def _experts(given: Given) -> list[FleetMoeRow]:
    return list(moe_rows(given.links))
