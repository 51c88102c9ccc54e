"""The verdict engine: what the rows that speak now say about each claim.

Blocks of one lane decide together: every point for the claim, every point against it, or the claim depends on
the dimension that its file names. Lanes go in the order of the file, gpu before published; a lane that cannot
decide says why, and the next is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import duckdb

from pipeline.analysis.claims import load_claims, raise_all, rule_hash, wording_hash
from pipeline.analysis.decisions import Decision, decision
from pipeline.analysis.evidence import evidence_names, open_evidence
from pipeline.analysis.provenance import UndecidedError
from pipeline.analysis.turning import dimension_splits, thresholds
from pipeline.errors import WeighbridgeError
from pipeline.paths import Workspace
from pipeline.schemas.claim import Claim, Verdict
from pipeline.schemas.turning import ClaimSplit, ClaimThreshold
from pipeline.schemas.words import Freshness
from pipeline.store.freshness import FreshnessLimits, freshness, load_limits

MECHANISM_ONLY = "mechanism on CPU; not measured on a GPU"


@dataclass(frozen=True)
class Weighed:
    """A claim's verdict, and what would turn it.

    Attributes:
        verdict: what the data say now.
        thresholds: how far each point that decided is from turning; empty where no lane decided.
        splits: where a verdict that depends turns, and what would part its points better.
    """

    verdict: Verdict
    thresholds: Sequence[ClaimThreshold] = ()
    splits: Sequence[ClaimSplit] = ()


def decide(
    ws: Workspace, connection: duckdb.DuckDBPyConnection | None = None, today: date | None = None
) -> list[Verdict]:
    """Verdicts on all claims, by id. Arguments and errors as of `weigh`."""
    return [each.verdict for each in weigh(ws, connection, today)]


def weigh(
    ws: Workspace,
    connection: duckdb.DuckDBPyConnection | None = None,
    today: date | None = None,
    claims: Sequence[Claim] | None = None,
) -> list[Weighed]:
    """Verdicts on all claims, by id, each with what would turn it.

    Args:
        ws: the checkout, with claims and freshness limits.
        connection: made by `open_evidence`; opened here if null.
        today: day that freshness is counted to; today if null.
        claims: claims to decide; all of the checkout if null.

    Raises:
        InputError: a claim file or its query is wrong; with several, all are told.
        CheckFailed: a claim asks a lane for what it may never decide.
    """
    if not (asked := load_claims(ws) if claims is None else claims):
        return []
    limits, day = load_limits(ws), today or datetime.now(UTC).date()
    views = open_evidence(ws, evidence_names(asked)) if connection is None else connection
    weighed, wrong = [], []
    for claim in asked:
        try:
            weighed.append(_weighed(claim, views, limits, day))
        except WeighbridgeError as error:
            wrong.append(error)
    raise_all(wrong, str(ws.claims))
    return weighed


def _weighed(
    claim: Claim, connection: duckdb.DuckDBPyConnection, limits: FreshnessLimits, today: date
) -> Weighed:
    reasons: list[str] = []
    decided = list(_decisions(claim, connection, reasons))
    if claim.always or not decided:
        return Weighed(_without_data(claim, reasons))
    first, source_note = _compared(decided)
    verdict = _verdict(claim, first, source_note, freshness(limits, first.lane, first.decided_on, today))
    return Weighed(verdict, thresholds(claim, first), dimension_splits(claim, first))


def _verdict(claim: Claim, first: Decision, source_note: str | None, fresh: Freshness) -> Verdict:
    mechanism = MECHANISM_ONLY if first.lane == "cpu" and claim.names_gpu else None
    return _filled(
        claim,
        verdict=first.outcome,
        freshness=fresh,
        lane=first.lane,
        quantity=f"{first.block.quantity} ({first.point.name})",
        value=first.point.value,
        low=first.point.low,
        high=first.point.high,
        unit=first.block.unit,
        n_independent=first.point.n,
        points=first.points,
        dimension=first.dimension,
        decided_on=first.decided_on,
        versions=first.versions,
        note=_joined(mechanism, source_note, claim.note),
    )


def _decisions(claim: Claim, connection: duckdb.DuckDBPyConnection, reasons: list[str]) -> Iterator[Decision]:
    """Decisions of the lanes that have one, in order; the others leave their reason."""
    for lane in dict.fromkeys(block.lane for block in claim.evidence):
        try:
            yield decision(claim, lane, connection)
        except UndecidedError as undecided:
            reasons.append(f"{lane}: {undecided}")


def _compared(decided: Sequence[Decision]) -> tuple[Decision, str | None]:
    """The first lane's decision, or `depends` where gpu and published disagree beyond both bands."""
    first = decided[0]
    other = next((each for each in decided[1:] if each.lane == "published"), None)
    if first.lane != "gpu" or other is None or other.outcome == first.outcome:
        return first, None
    if abs(first.point.value - other.point.value) <= first.width + other.width:
        return first, None
    both = [f"{each.lane} {each.outcome} ({each.point.value:.3g})" for each in (first, other)]
    return replace(first, outcome="depends", dimension="source"), f"sources disagree: {', '.join(both)}"


def _without_data(claim: Claim, reasons: Sequence[str]) -> Verdict:
    if claim.always:
        return _filled(claim, verdict=claim.always, note=claim.note)
    settle = f"would be settled by: {', '.join(claim.lanes)}"
    return _filled(claim, note=_joined(*reasons, settle, claim.note))


def _filled(claim: Claim, **known: Any) -> Verdict:
    """A verdict of which only these values are known."""
    values: dict[str, Any] = dict.fromkeys(Verdict.model_fields)
    values |= {name: getattr(claim, name) for name in ("id", "topic", "claim", "number")}
    values |= {"verdict": "not measured", "freshness": "not applicable"}
    values |= {"rule_hash": rule_hash(claim), "wording_hash": wording_hash(claim)}
    return Verdict.model_validate(values | known)


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
