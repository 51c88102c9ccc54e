"""Public traces: where they are, how they are fetched and checked, and how they become workloads.

Malformed lines, times out of order and doubled lines are found before anything runs, with file and line.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import httpx
import numpy as np

from pipeline.errors import DataError, InputError
from pipeline.fleet.workload import Floats, Workload
from pipeline.paths import cache_root

MOONCAKE_BLOCK_TOKENS = 512
_MOONCAKE = "https://raw.githubusercontent.com/kvcache-ai/Mooncake/main/FAST25-release/traces"
_AZURE = "https://raw.githubusercontent.com/Azure/AzurePublicDataset/master/data"
_AZURE_HEADER = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
_AT_ONCE = 2**20


@dataclass(frozen=True)
class Trace:
    """A public trace: its file, home, licence and what the file must be."""

    name: str
    file: str
    url: str
    licence: str
    size: int
    sha256: str
    attribution: str


TRACES = {
    trace.name: trace
    for trace in (
        Trace(
            "mooncake-conversation",
            "conversation_trace.jsonl",
            f"{_MOONCAKE}/conversation_trace.jsonl",
            "Apache-2.0",
            3_029_533,
            "b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df",
            "Mooncake (FAST 2025), conversation trace",
        ),
        Trace(
            "mooncake-synthetic",
            "synthetic_trace.jsonl",
            f"{_MOONCAKE}/synthetic_trace.jsonl",
            "Apache-2.0",
            1_136_313,
            "bd070915a98fc0ed264d7cfef2ce746002eb3076a695ec31ba2674c0111ec131",
            "Mooncake (FAST 2025), synthetic trace",
        ),
        Trace(
            "azure-2023-code",
            "AzureLLMInferenceTrace_code.csv",
            f"{_AZURE}/AzureLLMInferenceTrace_code.csv",
            "CC-BY-4.0",
            320_117,
            "54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6",
            "Azure Public Dataset, LLM inference trace 2023 (code)",
        ),
        Trace(
            "azure-2023-conversation",
            "AzureLLMInferenceTrace_conv.csv",
            f"{_AZURE}/AzureLLMInferenceTrace_conv.csv",
            "CC-BY-4.0",
            719_188,
            "2f1e5b666d4e3055fdbba98598ce2ec307767b9064e03e2fa46676dbcc7d0bf8",
            "Azure Public Dataset, LLM inference trace 2023 (conversation)",
        ),
    )
}


def trace(name: str) -> Trace:
    """The trace of this name.

    Raises:
        InputError: no such trace.
    """
    if name not in TRACES:
        raise InputError(
            f"no trace is called {name!r}", where="traces", next_step=f"known: {', '.join(TRACES)}"
        )
    return TRACES[name]


def trace_path(name: str) -> Path:
    """The file of a trace in the cache folder.

    Raises:
        InputError: no such trace, or it was not fetched yet.
    """
    path = traces_folder() / trace(name).file
    if not path.exists():
        raise InputError(
            f"the trace {name} is not here", where=str(path), next_step=f"run `weighbridge traces {name}`"
        )
    return path


def traces_folder() -> Path:
    """Where fetched traces lie."""
    return cache_root() / "traces"


def fetch(wanted: Trace, folder: Path | None = None) -> bool:
    """Bring a trace into the cache folder, from its public home or from a folder; checked before it counts.

    Returns:
        Whether something was brought; false where it was there already.

    Raises:
        InputError: the folder does not hold the file.
        DataError: it cannot be reached, or is not the file it should be.
    """
    target = traces_folder() / wanted.file
    if target.exists() and _digest(target) == wanted.sha256:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    try:
        _download(wanted, partial) if folder is None else _copy(wanted, folder, partial)
        if _digest(partial) != wanted.sha256:
            raise DataError(
                f"the file of {wanted.name} is not the one that was catalogued (its checksum differs)",
                where=wanted.url if folder is None else str(folder / wanted.file),
                next_step="fetch it anew; if the source has changed, compare before using it",
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return True


def mooncake(path: Path | str, spread: bool = True, rate_scale: float = 1.0) -> Workload:
    """Mooncake's format: a JSON object a line with timestamp (ms), input_length, output_length and hash_ids.

    Each id stands for 512 tokens and all before them; the id of a last block that is not full is left out.
    The trace names no sessions: requests with the same first two blocks count as one, as their start beyond
    the system prompt is the same.

    Args:
        path: the file.
        spread: requests with one time stamp (they were rounded to about three seconds) come evenly until the
            next stamp, instead of all at once.
        rate_scale: 2 lets the same requests come in half the time.

    Raises:
        InputError: what is wrong, with file and line.
    """
    rows = list(_checked(Path(path), _mooncake_rows(Path(path))))
    times = np.array([row[0] for row in rows], np.float64) / 1000
    prompt = np.array([row[1] for row in rows], np.int32)
    output = np.array([row[2] for row in rows], np.int32)
    chains = [row[3][: row[1] // MOONCAKE_BLOCK_TOKENS] for row in rows]
    blocks = np.array([len(chain) for chain in chains], np.int32)
    flat = np.array([block for chain in chains for block in chain], np.int64)
    starts = [tuple(row[3][:2]) for row in rows]
    numbers = {start: place for place, start in enumerate(dict.fromkeys(starts))}
    return Workload(
        arrival_s=_scaled(_spread(times) if spread else times, rate_scale),
        input_tokens=prompt,
        output_tokens=output,
        max_output_tokens=output,
        chain_start=np.cumsum(blocks, dtype=np.int64) - blocks,
        chain_blocks=blocks,
        chain_ids=np.unique(flat, return_inverse=True)[1].astype(np.int32),
        session=np.array([numbers[start] for start in starts], np.int32),
        **_nobody(len(rows)),
        hash_block_tokens=MOONCAKE_BLOCK_TOKENS,
    )


def azure(path: Path | str, rate_scale: float = 1.0) -> Workload:
    """Azure's format: CSV with TIMESTAMP, ContextTokens, GeneratedTokens; no prefixes.

    Args:
        path: the file.
        rate_scale: 2 lets the same requests come in half the time.

    Raises:
        InputError: what is wrong, with file and line.
    """
    rows = list(_checked(Path(path), _azure_rows(Path(path))))
    times = np.array([row[0] - rows[0][0] for row in rows], np.float64) / 1e9
    output = np.array([row[2] for row in rows], np.int32)
    return Workload(
        arrival_s=_scaled(times, rate_scale),
        input_tokens=np.array([row[1] for row in rows], np.int32),
        output_tokens=output,
        max_output_tokens=output,
        chain_start=np.zeros(len(rows), np.int64),
        chain_blocks=np.zeros(len(rows), np.int32),
        chain_ids=np.zeros(0, np.int32),
        session=np.full(len(rows), -1, np.int32),
        **_nobody(len(rows)),
        hash_block_tokens=MOONCAKE_BLOCK_TOKENS,
    )


Row = tuple[int, int, int, list[int]]
"""Time in the trace's unit, prompt, output, ids."""


def _nobody(number: int) -> dict[str, Any]:
    """Group, region, predecessor and think time of requests that have none."""
    none = np.full(number, -1, np.int32)
    return {"group": none, "region": none, "after": none, "think_s": np.zeros(number)}


def _wrong(path: Path, line: int, what: str) -> NoReturn:
    raise InputError(what, where=f"{path}, line {line}", next_step="mend or remove the line; nothing was run")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\n")
    except OSError as error:
        raise InputError(f"the trace cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("the trace is not text", where=str(path)) from error


def _mooncake_rows(path: Path) -> Iterator[tuple[int, str, Row]]:
    for number, line in _lines(path):
        try:
            made = json.loads(line)
            row = (made["timestamp"], made["input_length"], made["output_length"], made["hash_ids"])
        except (ValueError, KeyError, TypeError):
            _wrong(path, number, "not a JSON object with timestamp, input_length, output_length, hash_ids")
        whole = all(type(value) is int for value in (*row[:3], *_as_list(row[3])))
        if not whole or not isinstance(row[3], list) or min(row[3], default=0) < 0:
            _wrong(path, number, "a value is not a whole number, zero or more")
        if len(row[3]) < row[1] // MOONCAKE_BLOCK_TOKENS:
            _wrong(path, number, f"{len(row[3])} hash_ids for a prompt of {row[1]} tokens")
        yield number, line, row


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _azure_rows(path: Path) -> Iterator[tuple[int, str, Row]]:
    for number, line in _lines(path):
        cells = next(csv.reader([line]), [])
        if number == 1:
            if cells != _AZURE_HEADER:
                _wrong(path, number, f"the header is not {','.join(_AZURE_HEADER)}")
            continue
        try:
            stamp = int(np.datetime64(cells[0].strip(), "ns").astype(np.int64))
            row = (stamp, int(cells[1]), int(cells[2]), list[int]())
        except (ValueError, IndexError):
            _wrong(path, number, "not a time and two whole numbers")
        yield number, line, row


def _checked(path: Path, rows: Iterator[tuple[int, str, Row]]) -> Iterator[Row]:
    """Rows in order, with prompts and answers, each once."""
    before, seen, some = None, set[str](), False
    # A catalogued file holds what its publisher put there, which includes one doubled line.
    known = path.exists() and _digest(path) in {each.sha256 for each in TRACES.values()}
    for number, line, row in rows:
        if before is not None and row[0] < before:
            _wrong(path, number, f"its time {row[0]} comes before that of the line above, {before}")
        if row[0] < 0 or row[1] < 1 or row[2] < 1:
            _wrong(path, number, f"time {row[0]}, {row[1]} prompt and {row[2]} output tokens")
        if row[0] != before:
            seen.clear()
        if line in seen and not known:
            _wrong(path, number, "the line stands there twice")
        seen.add(line)
        before, some = row[0], True
        yield row
    if not some:
        raise InputError("the trace holds no request", where=str(path))


def _spread(times: Floats) -> Floats:
    """Equal stamps become even steps to the next stamp; the last ones take the usual distance of stamps."""
    stamps, place, count = np.unique(times, return_inverse=True, return_counts=True)
    gaps = np.diff(stamps)
    width = np.append(gaps, np.median(gaps) if gaps.size else 0.0)
    rank = np.arange(times.size) - (np.cumsum(count) - count)[place]
    spread: Floats = times + rank / count[place] * width[place]
    return spread


def _scaled(times: Floats, rate_scale: float) -> Floats:
    if not (np.isfinite(rate_scale) and rate_scale > 0):
        raise InputError(f"rate_scale is {rate_scale}", where="trace", next_step="give a number above zero")
    return times / rate_scale


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(wanted: Trace, folder: Path, partial: Path) -> None:
    source = folder / wanted.file
    if not source.is_file():
        raise InputError(
            f"no {wanted.file} in that folder",
            where=str(folder),
            next_step=f"it is published at {wanted.url}",
        )
    shutil.copyfile(source, partial)


def _download(wanted: Trace, partial: Path, get: Callable[..., Any] = httpx.stream) -> None:
    try:
        with get("GET", wanted.url, follow_redirects=True, timeout=60) as answer, partial.open("wb") as file:
            answer.raise_for_status()
            for part in answer.iter_bytes(_AT_ONCE):
                file.write(part)
    except httpx.HTTPError as error:
        raise DataError(
            f"{wanted.name} cannot be fetched: {error}",
            where=wanted.url,
            next_step=f"fetch {wanted.file} elsewhere and give its folder: weighbridge traces --from FOLDER",
        ) from error
