"""The simulated lane for `weighbridge run fleet`: prices, links and step times of other lanes go in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version

from pipeline.catalogue import catalogue
from pipeline.cli.fleet_validation import validation_inputs, validation_rows
from pipeline.lanes.simulated.lane import Given, compute_tables
from pipeline.lanes.simulated.serving import steps_by_serving
from pipeline.lanes.simulated.sweep import journal_name
from pipeline.paths import PACKAGE, Workspace
from pipeline.store.computed import Computation, inputs_hash, read_computed, source_hash
from pipeline.store.tables import TABLES

SOURCES = ("fleet", "lanes/simulated", "lanes/crossing.py", "schemas/simulated.py")
LINKS = ("nvlink4", "infiniband_400g", "tpu_v5p_dcn")
BOARD = "h100_sxm"


def simulated_inputs(ws: Workspace) -> Mapping[str, str]:
    """Hashes of the code, of the step times and of what the catalogues give."""
    given = _given(ws)
    steps = {f"step table, {name}": each.sha256[:16] for name, each in given.steps.items()}
    links = {f"link {name}, GB/s": f"{speed:g}" for name, speed in given.links.items()}
    return {
        "code": source_hash(*(PACKAGE / part for part in SOURCES)),
        "price of an H100, USD/h": f"{given.usd_per_gpu_hour:g}",
        **steps,
        **links,
        **validation_inputs(ws),
    }


def compute_simulated(ws: Workspace, say: Callable[[str], None]) -> Computation:
    """All tables; finished cells are kept until then, so that a stopped run goes on."""
    started = time.monotonic()
    kept = ws.local / "fleet"
    journal = kept / journal_name(inputs_hash(simulated_inputs(ws)))
    try:
        rows = {**compute_tables(_given(ws), journal, say), "fleet_validation": validation_rows(ws, say)}
    except KeyboardInterrupt:
        say("stopped; finished cells are kept, `weighbridge run fleet` goes on from here")
        raise
    tables = {table.name: table.arrow(rows[table.name]) for table in TABLES if table.lane == "simulated"}
    for old in kept.glob("fleet-*.jsonl"):
        old.unlink()
    versions = {name: version(name) for name in ("numba", "numpy")}
    return Computation(tables, versions, time.monotonic() - started)


def _given(ws: Workspace) -> Given:
    known = catalogue(ws)
    modelled = next(table for table in TABLES if table.name == "step_tables")
    prices = {price.item: price.usd for price in known.prices}
    links = {link.name: link.gb_s for link in known.links if link.name in LINKS}
    return Given(prices[BOARD], links, steps_by_serving(read_computed(ws, modelled).to_pylist()))
