"""What a number stands on: its lane, its day, its versions; a run of a measured lane, or a computed table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.words import Lane
from pipeline.site.html import attribute, day
from pipeline.site.words import TOOL_LABELS

NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Basis:
    """Where and when a number comes from.

    Attributes:
        lane: evidence lane.
        on: day of the measurement, or of the computation where nothing was measured.
        versions: engines, routers or packages, `not recorded` where unknown.
    """

    lane: Lane
    on: date
    versions: str


def of_run(run: Manifest | None) -> Basis | None:
    """Basis of rows of a run."""
    return Basis(run.lane, run.started_at.date(), versions_text(run)) if run else None


def of_computed(manifest: ComputedManifest | None) -> Basis | None:
    """Basis of rows of a computed lane."""
    if manifest is None:
        return None
    return Basis(manifest.lane, manifest.computed_at.date(), manifest.versions_text or NOT_RECORDED)


def origin_words(basis: Basis | None) -> str:
    """`30 Nov 2026 · vLLM 0.32.0`, as HTML."""
    return f"{day(basis.on)} · {attribute(basis.versions)}" if basis else NOT_RECORDED


def versions_text(run: Manifest | None) -> str:
    """`vLLM 0.32.0, vllm-router 0.1.17`; the load generator last."""
    if run is None or not run.versions:
        return NOT_RECORDED
    names = sorted(
        run.versions, key=lambda name: list(TOOL_LABELS).index(name) if name in TOOL_LABELS else 99
    )
    return ", ".join(f"{TOOL_LABELS.get(name, name)} {run.versions[name]}" for name in names)
