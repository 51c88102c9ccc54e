"""The journal of a run in progress: each finished cell is appended and synced before the next one starts.

One line of `rows.jsonl` is one finished cell (a list of its rows, one a phase), so a line that a crash cut
off is exactly one lost cell. At the end the journal becomes the run's folder, written whole and renamed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import DataError
from pipeline.paths import Workspace
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.store.checks import check_run
from pipeline.store.files import append_synced, folder_written_whole, reported, write_synced
from pipeline.store.lift import lift_row
from pipeline.store.runfiles import (
    LAUNCHES,
    completed,
    parquet_bytes,
    read_launches,
    requests_table,
    write_run,
)


class Journal:
    """Rows of one unfinished run. Use `create` or `resume`, never the constructor.

    Attributes:
        run_id: the run.
        header: what the writer of the run wants back when it resumes (profile, plan and so on).
    """

    def __init__(self, ws: Workspace, run_id: str, header: dict[str, Any]) -> None:
        self.run_id, self.header = run_id, header
        self._ws, self._folder = ws, ws.journals / run_id

    @classmethod
    def create(cls, ws: Workspace, run_id: str, header: dict[str, Any]) -> Self:
        """Start a journal.

        Raises:
            DataError: a journal of that name exists, or the disk refuses.
        """
        if (folder := ws.journals / run_id).exists():
            raise DataError(f"the run {run_id} is already in progress", where=str(folder))
        with reported("starting the journal", folder), folder_written_whole(folder) as partial:
            (partial / "requests").mkdir()
            (partial / "rows.jsonl").touch()
            write_synced(partial / "header.json", json.dumps(header, indent=1).encode())
        return cls(ws, run_id, header)

    @classmethod
    def resume(cls, ws: Workspace, run_id: str) -> Self:
        """Open the journal of an interrupted run, without the line that the interruption cut off.

        Raises:
            DataError: there is no such journal, or its header cannot be read.
        """
        header = _read_header(ws.journals / run_id)
        if header is None:
            raise DataError(f"no journal of run {run_id} can be resumed", where=str(ws.journals / run_id))
        journal = cls(ws, run_id, header)
        journal._drop_torn_line()
        return journal

    @staticmethod
    def latest_unfinished(ws: Workspace, profile: str) -> str | None:
        """The newest interrupted run of a profile, by the time in its name; null if there is none."""
        found = [
            folder.name
            for folder in ws.journals.glob("*")
            if (header := _read_header(folder))
            and header.get("profile") == profile
            # A crash between finishing a run and removing its journal leaves both.
            and not any((place / folder.name).exists() for place in (ws.local_runs, ws.quarantine))
        ]
        return max(found, key=lambda name: name.rsplit("-", 1)[-1], default=None)

    def append(self, rows: Sequence[Observation], requests: Sequence[RequestRow]) -> None:
        """Store one finished cell: all its phases, and its requests.

        A failed cell is appended like any other: one row with status failed and its reason. When the same
        cell and repeat come again (a retry after a failure), the later rows count.

        Raises:
            DataError: rows of several cells, or the disk refuses; then nothing was stored.
        """
        cell, repeat = _one_cell(rows)
        line = json.dumps([json.loads(_checked(row).model_dump_json()) for row in rows]) + "\n"
        table = parquet_bytes(requests_table(requests))
        with reported("storing a finished cell", self._folder):
            if requests:
                write_synced(self._folder / "requests" / f"{cell}-{repeat}.parquet", table)
            append_synced(self._folder / "rows.jsonl", line.encode())

    def launched(self, launches: Sequence[Launch]) -> None:
        """Keep how servers were started; a start that is known already changes nothing.

        Raises:
            DataError: the disk refuses.
        """
        known = {launch.launch_id for launch in read_launches(self._folder)}
        new = {launch.launch_id: launch for launch in launches if launch.launch_id not in known}
        if new:
            lines = "".join(launch.model_dump_json() + "\n" for launch in new.values())
            with reported("storing how a server was started", self._folder):
                append_synced(self._folder / LAUNCHES, lines.encode())

    def rows(self) -> list[Observation]:
        """All stored rows; of a cell stored twice the later ones."""
        kept = {_one_cell(group): group for group in self._groups()}
        return [row for group in kept.values() for row in group]

    def done(self) -> set[tuple[str, int]]:
        """Cells and repeats that need not be measured again: those with status ok."""
        return {(row.cell_id, row.repeat) for row in self.rows() if row.status == "ok"}

    def consolidate(self, manifest: Manifest) -> Path:
        """Turn the journal into the run's folder and remove the journal.

        Returns:
            The folder: in the local runs, or in quarantine (with `reason.txt`) when the checks fail.
            The manifest's hash and counts of cells are filled in from the rows.

        Raises:
            DataError: a run of that name exists, or the disk refuses; the journal is kept then.
        """
        rows = self.rows()
        full = completed(manifest, rows)
        reasons = check_run(rows, full)
        target = (self._ws.quarantine if reasons else self._ws.local_runs) / self.run_id
        write_run(target, full, rows, self._requests(rows), reasons, read_launches(self._folder))
        shutil.rmtree(self._folder)
        return target

    def _requests(self, rows: Sequence[Observation]) -> Any:
        wanted = dict.fromkeys((row.cell_id, row.repeat) for row in rows if row.status == "ok")
        files = [self._folder / "requests" / f"{cell}-{repeat}.parquet" for cell, repeat in wanted]
        tables = [pq.read_table(file) for file in files if file.exists()]
        return pa.concat_tables([requests_table([]), *tables])

    def _groups(self) -> Iterator[list[Observation]]:
        text = (self._folder / "rows.jsonl").read_bytes()
        for number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines(), start=1):
            try:
                group = json.loads(line)
            except ValueError as error:
                where = f"{self._folder / 'rows.jsonl'}, line {number}"
                raise DataError("a line of the journal is damaged", where=where) from error
            yield [lift_row(row) for row in group]

    def _drop_torn_line(self) -> None:
        path = self._folder / "rows.jsonl"
        whole = path.read_bytes().rfind(b"\n") + 1
        with path.open("r+b") as file:
            file.truncate(whole)


def _read_header(folder: Path) -> dict[str, Any] | None:
    try:
        header = json.loads((folder / "header.json").read_bytes())
    except (OSError, ValueError):
        return None
    return header if isinstance(header, dict) else None


def _one_cell(rows: Sequence[Observation]) -> tuple[str, int]:
    keys = {(row.cell_id, row.repeat) for row in rows}
    if len(keys) != 1:
        raise DataError(f"rows of exactly one cell and repeat belong together, these are of {len(keys)}")
    return keys.pop()


def _checked(row: Observation) -> Observation:
    """Validate again: a row that was copied with changes has not been."""
    return Observation.model_validate(dict(row))
