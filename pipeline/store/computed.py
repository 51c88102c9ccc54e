"""Tables of the computed lanes: one folder a lane, files named by the hash of what went in.

A lane's tables are replaced together and only when an input changed. The manifest is written last, so a
crash leaves the old tables or the new ones.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from pipeline.errors import DataError
from pipeline.paths import PACKAGE, Workspace
from pipeline.schemas.base import Strict
from pipeline.schemas.computed import ComputedManifest, TableFile
from pipeline.schemas.words import Lane
from pipeline.store.columns import arrow_schema, arrow_table, columns_of
from pipeline.store.files import reported, write_synced

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ComputedTable:
    """A table that a computed lane fills; it is a view of the same name.

    Attributes:
        name: as a query names it; a published name stays.
        lane: lane that computes it.
        row: schema of a row; columns, types and descriptions come from it.
        description: one sentence.
    """

    name: str
    lane: Lane
    row: type[Strict]
    description: str

    def arrow(self, rows: Iterable[Strict]) -> Any:
        """Checked rows as an Arrow table with exactly the schema's columns."""
        return arrow_table(list(columns_of(self.row)), [dict(row) for row in rows])


@dataclass(frozen=True)
class Computation:
    """What a lane computed: tables by name, and the packages it used."""

    tables: Mapping[str, Any]
    versions: Mapping[str, str]
    duration_s: float


def source_hash(*parts: Path) -> str:
    """Hash of the source files below these paths, so that changed code counts as a changed input."""
    digest = hashlib.sha256()
    for part in parts:
        for path in [part] if part.is_file() else sorted(part.rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def inputs_hash(inputs: Mapping[str, str]) -> str:
    """One hash of all inputs."""
    return hashlib.sha256(json.dumps(dict(inputs), sort_keys=True).encode()).hexdigest()


def is_current(ws: Workspace, lane: Lane, inputs: Mapping[str, str]) -> bool:
    """Whether the lane's stored tables were computed from exactly these inputs, and are all there."""
    manifest = read_manifest(ws, lane)
    if manifest is None or manifest.inputs_sha256 != inputs_hash(inputs):
        return False
    return all((lane_folder(ws, lane) / table.file).exists() for table in manifest.tables.values())


def lane_folder(ws: Workspace, lane: Lane) -> Path:
    """Where a computed lane lives."""
    return ws.data / "computed" / lane


def read_manifest(ws: Workspace, lane: Lane) -> ComputedManifest | None:
    """The lane's manifest; None where it was never computed.

    Raises:
        DataError: the file is damaged.
    """
    path = lane_folder(ws, lane) / "manifest.json"
    if not path.exists():
        return None
    try:
        return ComputedManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise _damaged(path, lane) from error


def write_computed(
    ws: Workspace, lane: Lane, inputs: Mapping[str, str], computation: Computation, command: str
) -> ComputedManifest:
    """Replace the lane's tables.

    Args:
        ws: the checkout.
        lane: lane that was computed.
        inputs: name to hash or version of everything that went in.
        computation: Arrow tables by name, as `ComputedTable.arrow` gives them.
        command: command that computes them again.

    Raises:
        DataError: the disk refuses; the old tables stay.
    """
    folder, digest = lane_folder(ws, lane), inputs_hash(inputs)
    with reported(f"writing the {lane} lane", folder):
        folder.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, table in sorted(computation.tables.items()):
            data = _parquet(table)
            file = f"{name}-{digest[:12]}.parquet"
            write_synced(folder / file, data)
            files[name] = TableFile(file=file, rows=table.num_rows, sha256=hashlib.sha256(data).hexdigest())
        manifest = ComputedManifest(
            schema_version=SCHEMA_VERSION,
            lane=lane,
            inputs=dict(inputs),
            inputs_sha256=digest,
            computed_at=datetime.now(UTC).replace(microsecond=0),
            duration_s=round(computation.duration_s, 3),
            command=command,
            versions=dict(computation.versions),
            tables=files,
        )
        write_synced(folder / "manifest.json", (manifest.model_dump_json(indent=1) + "\n").encode())
        for path in folder.glob("*.parquet"):
            if path.name not in {each.file for each in files.values()}:
                path.unlink()
    return manifest


def read_computed(ws: Workspace, table: ComputedTable) -> Any:
    """The stored table, typed and empty where the lane was never computed.

    Raises:
        DataError: the file is missing, changed, or of another shape than its schema.
    """
    schema = arrow_schema(list(columns_of(table.row)))
    manifest = read_manifest(ws, table.lane)
    if manifest is None or table.name not in manifest.tables:
        return schema.empty_table()
    kept = manifest.tables[table.name]
    path = lane_folder(ws, table.lane) / kept.file
    if not path.exists():
        raise _damaged(path, table.lane)
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != kept.sha256:
        raise _damaged(path, table.lane)
    stored = pq.read_table(io.BytesIO(data))
    if stored.schema.names != schema.names:
        raise _damaged(path, table.lane)
    return stored.cast(schema)


def manifests(ws: Workspace, lanes: Sequence[Lane]) -> dict[Lane, ComputedManifest]:
    """Manifests of those lanes that were computed."""
    found = {lane: read_manifest(ws, lane) for lane in lanes}
    return {lane: manifest for lane, manifest in found.items() if manifest is not None}


def _parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    # No time stamp and one row group: equal rows give equal bytes.
    pq.write_table(table, sink, compression="zstd", row_group_size=max(1, table.num_rows))
    return bytes(sink.getvalue())


def _damaged(path: Path, lane: Lane) -> DataError:
    return DataError(
        f"stored table of the {lane} lane is missing or was changed",
        where=str(path),
        next_step=f"compute it again: weighbridge run {'fleet' if lane == 'simulated' else lane} --fresh",
    )
