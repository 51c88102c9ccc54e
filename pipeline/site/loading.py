"""Reading store and verdict engine once for a whole build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

import pandas as pd
from pydantic import TypeAdapter

from pipeline.analysis.claims import load_claims
from pipeline.analysis.history import read_history
from pipeline.analysis.verdicts import Weighed, weigh
from pipeline.analysis.evidence import evidence_names
from pipeline.analysis.views import ALL_VIEWS, describe
from pipeline.paths import Workspace
from pipeline.schemas.claim import Claim, HistoryEntry, Verdict
from pipeline.schemas.computed import COMPUTED_LANES
from pipeline.schemas.words import Lane, Outcome
from pipeline.site.claims import Standing
from pipeline.site.data import Change, Kept, SiteData
from pipeline.site.numbers import interval, written
from pipeline.site.words import NO_VALUE
from pipeline.store.computed import manifests
from pipeline.store.freshness import load_limits
from pipeline.store.query import run_query
from pipeline.store.runfiles import read_launches
from pipeline.store.runs import StoredRun, corrections, list_runs
from pipeline.store.views import OpenViews, named_in

def load(ws: Workspace, today: date | None = None) -> SiteData:
    """All that pages can ask for.

    Args:
        ws: the checkout.
        today: day that ages are counted to.

    Raises:
        DataError: stored data are damaged.
        InputError: a claim file is wrong.
        CheckFailed: a claim asks a lane for what it may never decide.
    """
    day = today or datetime.now(UTC).date()
    claims = {claim.id: claim for claim in load_claims(ws)}
    views = OpenViews(ws, ALL_VIEWS)
    views.require(evidence_names(list(claims.values())))
    weighed = weigh(ws, views.connection, day, list(claims.values()))
    return SiteData(
        rows=_remembered(views),
        kept=[_kept(run) for run in list_runs(ws)],
        claims={each.verdict.id: _standing(each, claims) for each in weighed},
        changes=[_change(entry) for entry in read_history(ws)],
        limits=dict(load_limits(ws).limits_days),
        corrections=corrections(ws),
        today=day,
        columns=describe(),
        computed=manifests(ws, COMPUTED_LANES),
    )


def _kept(run: StoredRun) -> Kept:
    return Kept(run.place, run.manifest, run.reason, tuple(read_launches(run.folder)))


def _remembered(views: OpenViews) -> Callable[[str], pd.DataFrame]:
    """Each query is run once a build, however many pages ask it; a view is loaded when one names it."""
    known: dict[str, pd.DataFrame] = {}

    def rows(sql: str) -> pd.DataFrame:
        if sql not in known:
            views.require(named_in(sql, ALL_VIEWS))
            known[sql] = run_query(views.connection, sql).to_pandas()
        return known[sql]

    return rows


def _standing(weighed: Weighed, claims: Mapping[str, Claim]) -> Standing:
    verdict = weighed.verdict
    claim = claims[verdict.id]
    lane: Lane | None = next((lane for lane in claim.lanes if lane == verdict.lane), None)
    return Standing(
        id=verdict.id,
        topic=claim.topic,
        claim=claim.claim,
        number=claim.number,
        verdict=_outcome(verdict),
        dimension=verdict.dimension,
        freshness=verdict.freshness,
        lane=lane,
        lanes=claim.lanes,
        value=_value(verdict),
        n=verdict.n_independent,
        decided_on=verdict.decided_on,
        note=verdict.note,
        scope=claim.scope,
        versions=verdict.versions,
        rule_hash=verdict.rule_hash,
        evidence=claim.evidence,
        turns=weighed.thresholds,
        splits=weighed.splits,
    )


def _outcome(verdict: Verdict) -> Outcome:
    return TypeAdapter(Outcome).validate_python(verdict.verdict)


def _value(verdict: Verdict) -> str | None:
    """`hit rate, cache-aware over round robin: 0.984 (0.981 to 0.985)`."""
    if verdict.value is None:
        return None
    unit = verdict.unit or ""
    value, span = written(verdict.value, "number", unit), interval(verdict.low, verdict.high, "number", unit)
    return f"{verdict.quantity}: {value}" + ("" if span in (value, NO_VALUE) else f" ({span})")


def _change(entry: HistoryEntry) -> Change:
    return Change(entry.id, entry.previous, entry.verdict, entry.recorded_at.date(), entry.cause)
