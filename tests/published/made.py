"""A small sample file in the package's format, made row by row."""

from __future__ import annotations

import csv
from pathlib import Path

from pipeline.lanes.published.sample import COLUMNS

LLAMA = "meta-llama/Llama-3.1-70B"


def record(number: int, backend: str, **values: object) -> dict[str, str]:
    concurrency, day = values.pop("concurrency", 16), values.pop("day", "2026-02-01")
    source = f"source_file=2026-03-25.csv; silicon_concurrency={concurrency}; measured={day}"
    if concurrency is None:
        source = f"source_file=2026-03-25.csv; measured={day}"
    known: dict[str, object] = {
        "id": f"row-{number}",
        "silicon_data_source": source,
        "backend": backend,
        "backend_version": "0.15.1" if backend == "vllm" else "1.2.0rc2",
        "model_path": "openai/gpt-oss-120b",
        "system": "b200_sxm",
        "precision": "fp4",
        "mode": "agg",
        "isl": 1024,
        "osl": 1024,
        "batch_size": float(str(concurrency or 24)),
        "tp_size": 2.0,
        "pp_size": 1.0,
        "moe_tp_size": 2.0,
        "moe_ep_size": 1.0,
        "silicon_ttft_ms": 200.0,
        "silicon_tpot_ms": 10.0,
    }
    known |= values
    return {name: "" if (value := known.get(name)) is None else str(value) for name in COLUMNS}


def write(path: Path, records: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(records)
    return path
