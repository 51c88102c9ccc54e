"""The simulated lane for `weighbridge run fleet`: what other lanes know goes in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version

from pipeline.catalogue import Catalogue, catalogue
from pipeline.cli.fleet_validation import validation_inputs, validation_rows
from pipeline.lanes.simulated.lane import Given, compute_tables
from pipeline.paths import PACKAGE, Workspace
from pipeline.store.computed import Computation, source_hash
from pipeline.store.tables import TABLES

SOURCES = ("lanes/simulated", "schemas/simulated.py")
LINKS = ("nvlink4", "infiniband_400g", "tpu_v5p_dcn")


def simulated_inputs(ws: Workspace) -> Mapping[str, str]:
    """Hashes of the code, and what the catalogues give."""
    links = {f"link {name}, GB/s": f"{speed:g}" for name, speed in _given(catalogue(ws)).links.items()}
    return {"code": source_hash(*(PACKAGE / part for part in SOURCES)), **links, **validation_inputs(ws)}


def compute_simulated(ws: Workspace, say: Callable[[str], None]) -> Computation:
    """All tables of the lane."""
    started = time.monotonic()
    rows = {**compute_tables(_given(catalogue(ws))), "fleet_validation": validation_rows(ws, say)}
    say(f"simulated: {sum(len(list(each)) for each in rows.values()):,} rows computed")
    tables = {table.name: table.arrow(rows[table.name]) for table in TABLES if table.name in rows}
    return Computation(tables, {"numpy": version("numpy")}, time.monotonic() - started)


def _given(known: Catalogue) -> Given:
    return Given({link.name: link.gb_s for link in known.links if link.name in LINKS})
