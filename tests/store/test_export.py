"""Exports hold what was promoted, and a dictionary that cannot drift from the schema."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq

from pipeline.paths import Workspace
from pipeline.schemas.observation import Observation
from pipeline.store.export import ATTRIBUTION, export
from tests.fixtures.synthetic_run import synthetic_rows, write_synthetic_run


def test_exports_hold_every_promoted_row_and_keep_missing_missing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    write_synthetic_run(ws, promoted=True)
    write_synthetic_run(ws, promoted=False, run_id="synthetic-20261201T000000Z")
    names = [path.name for path in export(ws, tmp_path / "out")]
    assert names == ["observations.csv", "observations.parquet", "dictionary.csv", "ATTRIBUTION.txt"]
    with (tmp_path / "out" / "observations.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(synthetic_rows())
    assert {row["tok_s_per_gpu"] for row in rows} == {""}
    table = pq.read_table(tmp_path / "out" / "observations.parquet")
    assert table.num_rows == len(rows)
    assert table.schema.metadata[b"attribution"].decode() == ATTRIBUTION


def test_the_dictionary_describes_every_column(tmp_path: Path) -> None:
    export(Workspace(tmp_path), tmp_path / "out")
    with (tmp_path / "out" / "dictionary.csv").open() as file:
        described = {row["column"]: row["description"] for row in csv.DictReader(file)}
    assert list(described) == list(Observation.model_fields)
    assert all(described.values())
