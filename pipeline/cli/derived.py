"""The derived lane for `weighbridge run derived`: from the catalogues to tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pipeline.catalogue import catalogue
from pipeline.derived.tables import compute_tables
from pipeline.paths import PACKAGE, Workspace
from pipeline.store.computed import Computation, source_hash
from pipeline.store.tables import TABLES

SOURCES = ("derived", "catalogue", "schemas/derived.py", "schemas/catalogue.py")


def derived_inputs(ws: Workspace) -> Mapping[str, str]:
    """Hashes of the catalogues and of the code."""
    return {**catalogue(ws).hashes(), "code": source_hash(*(PACKAGE / part for part in SOURCES))}


def compute_derived(ws: Workspace, say: Callable[[str], None]) -> Computation:
    """All tables; refused as a whole where one catalogue is wrong.

    Raises:
        InputError: names file, line and field.
    """
    started = time.monotonic()
    rows = compute_tables(catalogue(ws))
    say(f"derived: {sum(map(len, rows.values())):,} rows computed")
    tables = {table.name: table.arrow(rows[table.name]) for table in TABLES if table.lane == "derived"}
    return Computation(tables, {}, time.monotonic() - started)
