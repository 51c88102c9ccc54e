"""Reading rows of every schema version: one function a version lifts a row to the next one.

Stored files are never rewritten. A new schema version adds one entry to `_LIFTS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from pipeline.errors import DataError
from pipeline.schemas.observation import SCHEMA_VERSION, Observation

Row = dict[str, Any]

# Columns that version 2 added for the GPU lane: rows before it know nothing of them.
_ADDED_IN_2 = (
    *("kv_pool_gib", "kv_dtype", "weights", "backend", "admission", "cuda_graphs", "chunked_prefill"),
    *("gpu_memory_share", "kv_offload_gib", "weight_offload_gib", "tensor_parallel", "superseded"),
    *("launch_id", "card_before_gib", "card_peak_gib", "card_after_gib", "card_total_gib", "power_peak_w"),
    *("energy_j", "tok_s_per_w", "sm_clock_mean_mhz", "sm_clock_min_mhz", "gpu_temperature_peak_c"),
    *("throttled_share", "power_capped_share", "card_shared", "sampler_hz", "sampler_cpu_share"),
    *("kv_offload_gib_moved", "paused_requests"),
)


def _lift_1(row: Row) -> Row:
    return {**dict.fromkeys(_ADDED_IN_2), **row, "schema_version": 2}


# Version to the function that turns its rows into rows of the version after it.
_LIFTS: Mapping[int, Callable[[Row], Row]] = {1: _lift_1}


def lift_row(row: Row, lifts: Mapping[int, Callable[[Row], Row]] = _LIFTS) -> Observation:
    """One stored row in the current schema.

    Raises:
        DataError: the row's version is unknown, or it does not fit its schema.
    """
    version = row.get("schema_version", 0)
    while version != SCHEMA_VERSION:
        if version not in lifts:
            raise DataError(f"rows of schema version {version} cannot be read by this release")
        row = lifts[version](row)
        version = row["schema_version"]
    return _validated(row, json.dumps(row))


def lift_line(line: bytes) -> Observation:
    """One line of a stored file in the current schema; raises as `lift_row` does."""
    row = json.loads(line)
    return _validated(row, line) if row.get("schema_version") == SCHEMA_VERSION else lift_row(row)


def _validated(row: Row, text: str | bytes) -> Observation:
    try:
        return Observation.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"a stored row does not fit its schema: {field}: {first['msg']}",
            where=f"run {row.get('run_id')}, cell {row.get('cell_id')}",
        ) from error
