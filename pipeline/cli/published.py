"""The published lane for `weighbridge run published`: from the package's measured sample to tables."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.environments import environment
from pipeline.environments.installed import site
from pipeline.lanes.published.lane import SAMPLE, published_tables
from pipeline.paths import PACKAGE, Workspace
from pipeline.store.computed import Computation, source_hash
from pipeline.store.tables import TABLES

PACKAGE_NAME = "aiconfigurator"


def sample_path() -> Path:
    """The measured sample in the package's environment.

    Raises:
        EnvironmentMissing: it is not set up.
    """
    return site(environment(PACKAGE_NAME).root) / SAMPLE


def quoted_path(ws: Workspace) -> Path:
    """The vendor's table, quoted."""
    return ws.data / "quoted" / "throughput.toml"


def published_inputs(ws: Workspace) -> Mapping[str, str]:
    """Hashes of the sample, of the quoted table and of the code."""
    files = {"sample": sample_path(), "quoted": quoted_path(ws)}
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    notes = PACKAGE / "lanes" / "published"
    for name in ("relisted.txt", "inferred_versions.toml"):
        hashes[name] = hashlib.sha256((notes / name).read_bytes()).hexdigest()
    return {**hashes, "code": source_hash(notes, PACKAGE / "schemas" / "published.py")}


def compute_published(ws: Workspace, say: Callable[[str], None]) -> Computation:
    """All tables; a file that is not what it was is refused as a whole.

    Raises:
        InputError: names file, line and field.
        EnvironmentMissing: the package is not set up.
    """
    started = time.monotonic()
    rows = published_tables(sample_path(), quoted_path(ws), say)
    tables = {table.name: table.arrow(rows[table.name]) for table in TABLES if table.lane == "published"}
    return Computation(tables, environment(PACKAGE_NAME).versions(), time.monotonic() - started)
