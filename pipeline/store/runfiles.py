"""The folder of one finished run: manifest, rows, requests, and the reason where it is quarantined."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from pipeline.errors import DataError
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.store.columns import arrow_table, columns_of
from pipeline.store.files import folder_written_whole, reported, write_synced
from pipeline.store.lift import lift_line

MANIFEST, OBSERVATIONS, REQUESTS, REASON = (
    "manifest.json",
    "observations.jsonl",
    "requests.parquet",
    "reason.txt",
)
LAUNCHES = "launches.jsonl"
REQUEST_COLUMNS = columns_of(RequestRow)


def completed(manifest: Manifest, rows: Sequence[Observation]) -> Manifest:
    """The manifest with what only the rows know: their hash and how many cells succeeded or failed."""
    ok = {(row.cell_id, row.repeat) for row in rows if row.status == "ok"}
    every = {(row.cell_id, row.repeat) for row in rows}
    sha256 = hashlib.sha256(_lines(rows)).hexdigest()
    return manifest.model_copy(
        update={"rows_sha256": sha256, "cells_ok": len(ok), "cells_failed": len(every - ok)}
    )


def write_run(
    target: Path,
    manifest: Manifest,
    rows: Sequence[Observation],
    requests: Any,
    reasons: Sequence[str] = (),
    launches: Sequence[Launch] = (),
) -> None:
    """Write a run's folder whole, or nothing.

    Args:
        target: folder to be made.
        manifest: made by `completed` from these rows.
        rows: all rows of the run.
        requests: Arrow table with the columns of `RequestRow`.
        reasons: why the run is quarantined, empty where it is not.
        launches: how its servers were started, where that is kept.

    Raises:
        DataError: the folder exists, or the disk refuses.
    """
    if target.exists():
        raise DataError(f"a finished run {target.name} already exists", where=str(target))
    with reported("finishing the run", target), folder_written_whole(target) as partial:
        write_synced(partial / OBSERVATIONS, _lines(rows))
        write_synced(partial / REQUESTS, parquet_bytes(requests))
        write_manifest(partial, manifest)
        if launches:
            lines = "".join(launch.model_dump_json() + "\n" for launch in launches)
            write_synced(partial / LAUNCHES, lines.encode())
        if reasons:
            write_synced(partial / REASON, "".join(f"{each}\n" for each in reasons).encode())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write or replace the manifest of a run's folder."""
    write_synced(folder / MANIFEST, (manifest.model_dump_json(indent=1) + "\n").encode())


def copy_run(source: Path, target: Path, manifest: Manifest) -> None:
    """Copy a run's folder whole under another manifest; rows stay byte for byte, whatever schema they have.

    Raises:
        DataError: the target exists, or the disk refuses.
    """
    if target.exists():
        raise DataError("there is such a run already", where=str(target))
    with reported("copying a run", target), folder_written_whole(target) as partial:
        for path in sorted(source.iterdir()):
            if path.name not in (MANIFEST, REASON):
                write_synced(partial / path.name, path.read_bytes())
        write_manifest(partial, manifest)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run.

    Raises:
        DataError: it is missing or does not fit its schema.
    """
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise DataError(
            "a run's manifest cannot be read",
            where=str(folder / MANIFEST),
            next_step="restore the file from git, or remove the folder",
        ) from error


def read_rows(folder: Path, manifest: Manifest) -> list[Observation]:
    """All rows of a run in the current schema.

    Raises:
        DataError: the file is missing, or is not the one that the manifest was written for.
    """
    path = folder / OBSERVATIONS
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError("a run's rows are missing", where=str(path)) from error
    if hashlib.sha256(data).hexdigest() != manifest.rows_sha256:
        raise DataError(
            "a run's rows are not those its manifest was written for",
            where=str(path),
            next_step="restore the file from git, or remove the folder",
        )
    return [lift_line(line) for line in data.splitlines()]


def read_launches(folder: Path) -> list[Launch]:
    """How the servers of a run were started; empty where that was not kept.

    Raises:
        DataError: a line does not fit its schema.
    """
    path = folder / LAUNCHES
    lines = path.read_bytes().splitlines() if path.exists() else []
    try:
        return [Launch.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise DataError("a stored launch does not fit its schema", where=str(path)) from error


def read_requests(folder: Path) -> Any:
    """Arrow table of a run's requests, empty where none were kept."""
    path = folder / REQUESTS
    return pq.read_table(path) if path.exists() else requests_table([])


def requests_table(requests: Sequence[RequestRow]) -> Any:
    """Arrow table of these requests."""
    return arrow_table(REQUEST_COLUMNS, [row.model_dump() for row in requests])


def parquet_bytes(table: Any) -> bytes:
    """An Arrow table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _lines(rows: Sequence[Observation]) -> bytes:
    return "".join(row.model_dump_json() + "\n" for row in rows).encode()
