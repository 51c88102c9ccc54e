"""The modelled lane for `weighbridge run modelled`: from AIConfigurator's kernel tables to ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pipeline.cli.published import PACKAGE_NAME, published_inputs, sample_path
from pipeline.environments import environment
from pipeline.lanes.modelled.lane import modelled_tables
from pipeline.paths import PACKAGE, Workspace
from pipeline.store.computed import Computation, source_hash
from pipeline.store.tables import TABLES


def modelled_inputs(ws: Workspace) -> Mapping[str, str]:
    """Hashes of the sample, of the package's pins and of the code of this lane and the published one."""
    published = published_inputs(ws)
    measured = {f"published {name}": published[name] for name in published if name != "quoted"}
    code = source_hash(PACKAGE / "lanes" / "modelled", PACKAGE / "schemas" / "modelled.py")
    return {**measured, "package": environment(PACKAGE_NAME).requirements_sha256, "code": code}


def compute_modelled(_: Workspace, say: Callable[[str], None]) -> Computation:
    """All tables.

    Raises:
        InputError: the measured sample is not what it was.
        EngineFailure: the package's process died.
        EnvironmentMissing: the package is not set up.
    """
    started, package = time.monotonic(), environment(PACKAGE_NAME)
    versions = package.versions()
    rows = modelled_tables(package.python, sample_path(), versions["aiconfigurator-core"], say)
    tables = {table.name: table.arrow(rows[table.name]) for table in TABLES if table.lane == "modelled"}
    return Computation(tables, versions, time.monotonic() - started)
