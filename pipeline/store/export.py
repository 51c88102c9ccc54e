"""Machine-readable exports of the promoted rows, with a data dictionary and attribution."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from pyarrow import csv as arrow_csv

from pipeline.paths import Workspace
from pipeline.store.columns import Column
from pipeline.store.files import reported, write_synced
from pipeline.store.query import run_query
from pipeline.store.runfiles import parquet_bytes
from pipeline.store.views import OBSERVATION_COLUMNS, open_views

ATTRIBUTION = (
    "Weighbridge measurements of LLM serving, Apache-2.0. Please name Weighbridge, the run_id and the "
    "date of measurement when you use them."
)


def export(ws: Workspace, out_dir: Path) -> list[Path]:
    """Write the promoted observations for readers to download.

    Args:
        ws: the checkout.
        out_dir: folder to write to; made if absent.

    Returns:
        observations.csv (missing is empty), observations.parquet, dictionary.csv and ATTRIBUTION.txt.

    Raises:
        DataError: stored data are damaged, or the disk refuses.
    """
    with open_views(ws, names=["observations"]) as connection:
        table = run_query(connection, "SELECT * FROM observations ORDER BY run_id, cell_id, repeat, phase")
    files = {
        "observations.csv": _csv(table),
        "observations.parquet": parquet_bytes(table.replace_schema_metadata({"attribution": ATTRIBUTION})),
        "dictionary.csv": dictionary(OBSERVATION_COLUMNS).encode(),
        "ATTRIBUTION.txt": f"{ATTRIBUTION}\n".encode(),
    }
    with reported("writing the exports", out_dir):
        out_dir.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_synced(out_dir / name, data)
    return [out_dir / name for name in files]


def dictionary(columns: tuple[Column, ...]) -> str:
    """The data dictionary as CSV: column, type, description; generated from the schema."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["column", "type", "description"])
    writer.writerows([column.name, column.sql_type, column.description] for column in columns)
    return text.getvalue()


def _csv(table: Any) -> bytes:
    sink = io.BytesIO()
    arrow_csv.write_csv(table, sink)
    return sink.getvalue()
