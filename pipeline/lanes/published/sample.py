"""Reading the measured sample, strictly: a file that is not what it was is refused with line and field."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from pipeline.errors import InputError
from pipeline.schemas.base import Authored

_WORKERS = (
    "batch_size",
    "num_workers",
    "tp_size",
    "pp_size",
    "attention_dp_size",
    "moe_tp_size",
    "moe_ep_size",
)
_DISAGGREGATED = tuple(f"{phase}_{name}" for phase in ("prefill", "decode") for name in _WORKERS)
COLUMNS = (
    *("id", "silicon_data_source", "backend", "backend_version", "model_path", "system", "precision", "mode"),
    *("isl", "osl", "gemm_quant_mode", "moe_quant_mode"),
    *("batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"),
    *_DISAGGREGATED,
    *("silicon_ttft_ms", "silicon_tpot_ms"),
)
"""Columns of `silicon_sample.csv` in aiconfigurator-core 0.12.0, in its order."""

# Outside these a value has another unit. The sample itself spans 25 ms to 463 s and 1.8 ms to 560 ms.
TTFT_MS = (1.0, 3_600_000.0)
TPOT_MS = (0.2, 1_000.0)
_RELISTED = Path(__file__).parent / "relisted.txt"
_MEASUREMENT = (*COLUMNS[2:10], *COLUMNS[12:])


class SampleRow(Authored):
    """One row of the sample as far as this lane reads it; a size of zero means one."""

    id: str = Field(min_length=1)
    silicon_data_source: str = Field(min_length=1)
    backend: str = Field(min_length=1)
    backend_version: str | None
    model_path: str = Field(min_length=1)
    system: str = Field(min_length=1)
    precision: str | None
    mode: str = Field(pattern="^(agg|disagg)$")
    isl: int = Field(gt=0)
    osl: int = Field(gt=0)
    gemm_quant_mode: str | None
    moe_quant_mode: str | None
    batch_size: int | None = Field(gt=0)
    tp_size: int | None = Field(gt=0)
    pp_size: int | None = Field(gt=0)
    attention_dp_size: int | None = Field(ge=0)
    moe_tp_size: int | None = Field(ge=0)
    moe_ep_size: int | None = Field(ge=0)
    silicon_ttft_ms: float = Field(ge=TTFT_MS[0], le=TTFT_MS[1])
    silicon_tpot_ms: float = Field(ge=TPOT_MS[0], le=TPOT_MS[1])

    @model_validator(mode="after")
    def _complete(self) -> SampleRow:
        if self.mode == "agg" and (self.tp_size is None or self.batch_size is None):
            raise ValueError("a row of an aggregated server needs tp_size and batch_size")
        return self


def read_sample(path: Path, relisted: Path = _RELISTED) -> list[SampleRow]:
    """All rows of the sample.

    Args:
        path: the CSV file.
        relisted: digests of the rows that are known to list another row's measurement again.

    Raises:
        InputError: a column changed, a value is impossible or in another unit, or a row is a new duplicate;
            names file, line and field.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        _check_columns(path, reader.fieldnames or ())
        raw = list(reader)
    rows = [_row(path, line, record) for line, record in enumerate(raw, start=2)]
    _check_duplicates(path, raw, set(relisted.read_text(encoding="utf-8").split()))
    return rows


def digest(record: Mapping[str, str]) -> str:
    """10 hex digits that name a row in the list of known repetitions."""
    return hashlib.sha256(record["id"].encode()).hexdigest()[:10]


def repeated(raw: Sequence[Mapping[str, str]]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Line and record of each row whose measurement, id and source aside, an earlier row already lists."""
    seen: set[tuple[str, ...]] = set()
    for line, record in enumerate(raw, start=2):
        key = tuple(record[name] for name in _MEASUREMENT)
        if key in seen:
            yield line, record
        seen.add(key)


def _check_columns(path: Path, found: Sequence[str]) -> None:
    if tuple(found) == COLUMNS:
        return
    missing, new = (
        ", ".join(sorted(names)) for names in (set(COLUMNS) - set(found), set(found) - set(COLUMNS))
    )
    parts = [f"{word} {names}" for word, names in (("missing", missing), ("unknown", new)) if names]
    raise InputError(
        f"the measured sample has other columns: {'; '.join(parts) or 'another order'}",
        where=f"{path}, line 1",
        next_step="weighbridge env remove aiconfigurator, then env setup aiconfigurator",
    )


def _row(path: Path, line: int, record: Mapping[str, str]) -> SampleRow:
    try:
        return SampleRow.model_validate(
            {name: record[name].strip() or None for name in SampleRow.model_fields}
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "row"
        raise InputError(
            f"the measured sample has an impossible value in {field}: {first['msg']}",
            where=f"{path}, line {line} ({record.get('id') or 'no id'})",
            next_step="times are in milliseconds and positive; nothing was ingested",
        ) from error


def _check_duplicates(path: Path, raw: Sequence[Mapping[str, str]], known: set[str]) -> None:
    ids: set[str] = set()
    for line, record in enumerate(raw, start=2):
        if record["id"] in ids:
            raise _duplicate(path, line, record)
        ids.add(record["id"])
    for line, record in repeated(raw):
        if digest(record) not in known:
            raise _duplicate(path, line, record)


def _duplicate(path: Path, line: int, record: Mapping[str, str]) -> InputError:
    return InputError(
        "the measured sample lists one measurement twice, and the repetition is new",
        where=f"{path}, line {line} ({record['id']})",
        next_step="look at both rows; nothing was ingested",
    )
