"""Identities: short hashes of canonical forms, so that equal settings have equal names for years."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pipeline.schemas.cell import Cell

_HEX_DIGITS = 16
_ROUTER = "vllm-router"


def canonical(cell: Cell) -> dict[str, Any]:
    """The knobs of a cell that are set on purpose, as plain JSON values.

    A knob equal to its default is left out, so a knob added later changes no id of an old cell. An engine
    version asked for by name is no knob: it counts among the versions.
    """
    return cell.model_dump(mode="json", exclude_defaults=True, exclude={"engine": {"version"}})


def cell_id(cell: Cell, versions: Mapping[str, str]) -> str:
    """Identity of a cell under the versions that serve it, 16 hexadecimal digits.

    Args:
        cell: the knobs.
        versions: tool name to version; only the cell's engine, and the router if it has one, count.
    """
    serving = [cell.engine.name] + ([_ROUTER] if cell.router else [])
    counted = {name: version for name, version in serving_versions(cell, versions).items() if name in serving}
    return _digest({"cell": canonical(cell), "versions": counted})


def serving_versions(cell: Cell, versions: Mapping[str, str]) -> dict[str, str]:
    """The versions a cell is served by: the run's, with the engine version that the cell asks for."""
    asked: dict[str, str] = {cell.engine.name: cell.engine.version} if cell.engine.version else {}
    return {**versions, **asked}


def series_id(cell: Cell) -> str:
    """Identity of a cell over all versions of engine and router, for history."""
    return _digest({"cell": canonical(cell)})


def workload_hash(requests_bytes: bytes) -> str:
    """Identity of the requests as sent; no trend is drawn across two of them."""
    return hashlib.sha256(requests_bytes).hexdigest()[:_HEX_DIGITS]


def host_id(fields: Mapping[str, object]) -> str:
    """Identity of a machine from the fields of `schemas.manifest.Host` (its `host_id` is ignored).

    Memory counts in whole GiB, because the kernel's own share moves it a little at each boot.
    """
    known = {name: value for name, value in fields.items() if value is not None and name != "host_id"}
    if isinstance(memory := known.get("memory_gib"), (int, float)):
        known["memory_gib"] = round(memory)
    return _digest({"host": known})


def _digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]
