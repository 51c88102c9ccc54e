"""All tables of the lane by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pipeline.catalogue import Catalogue
from pipeline.derived.tables.cases import kv_cases
from pipeline.derived.tables.claimed import arithmetic
from pipeline.derived.tables.grid import costs, fits, gpus_needed
from pipeline.derived.tables.listing import hardware, links, models, prices, releases
from pipeline.derived.tables.times import time_floors
from pipeline.derived.tables.waste import fragmentation
from pipeline.schemas.base import Strict

MAKERS: Mapping[str, Callable[[Catalogue], Iterable[Strict]]] = {
    "models": models,
    "hardware": hardware,
    "links": links,
    "prices": prices,
    "releases": releases,
    "kv_cases": kv_cases,
    "fit": fits,
    "cost": costs,
    "gpus_needed": gpus_needed,
    "time_floors": time_floors,
    "fragmentation": fragmentation,
    "arithmetic": arithmetic,
}


def compute_tables(known: Catalogue) -> dict[str, list[Strict]]:
    """Rows of every table.

    Raises:
        InputError: a catalogue file is wrong; nothing was written.
    """
    return {name: list(make(known)) for name, make in MAKERS.items()}
