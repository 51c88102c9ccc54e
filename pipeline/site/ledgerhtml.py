"""The claim ledger: every claim with its verdict, filterable by topic, verdict, lane and freshness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from html import escape

from pipeline.schemas.words import Outcome
from pipeline.site.claims import Standing, outcome_mark
from pipeline.site.data import Change, SiteData
from pipeline.site.html import day, one_block, table
from pipeline.site.rowhtml import opened
from pipeline.site.words import LANE_BADGES

ORDER: tuple[Outcome, ...] = (
    "holds",
    "fails",
    "depends",
    "ill-posed",
    "reported",
    "definition",
    "not measured",
)
COUNTED = {"holds": "hold", "fails": "fail", "depends": "depend"}


def ledger(
    standings: Sequence[Standing],
    pages: Mapping[str, Sequence[tuple[str, str]]],
    changes: Sequence[Change] = (),
) -> str:
    """The whole ledger; the filters are shown by a script and absent without one.

    Args:
        standings: all claims in order.
        pages: claim id to (title, address) of pages that answer it.
        changes: history of verdicts, oldest first.
    """
    filters = "".join(
        _filter(name, values)
        for name, values in (
            ("topic", (standing.topic for standing in standings)),
            ("verdict", (standing.verdict for standing in standings)),
            ("lane", (lane for standing in standings for lane in standing.lanes)),
            ("freshness", (standing.freshness for standing in standings)),
        )
    )
    rows = "".join(
        _row(each, pages.get(each.id, ()), [change for change in changes if change.claim == each.id])
        for each in standings
    )
    return one_block(
        f'<form class="wb-filters" hidden>{filters}'
        f'<output class="wb-count">{len(standings)} claims</output></form>'
        f'<div class="wb-claims">{rows}</div>'
    )


def counts(standings: Iterable[Standing]) -> str:
    """`44 claims: 2 hold · 1 fails · 41 not measured`."""
    tally = Counter(standing.verdict for standing in standings)
    parts = [f"{tally[outcome]} {_counted(outcome, tally[outcome])}" for outcome in ORDER if tally[outcome]]
    return f"{sum(tally.values())} claims: {' · '.join(parts)}"


def _counted(outcome: Outcome, count: int) -> str:
    return COUNTED.get(outcome, outcome) if count != 1 else outcome


def _filter(name: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{value}</option>" for value in sorted(set(values)))
    return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'


def _row(standing: Standing, pages: Sequence[tuple[str, str]], changes: Sequence[Change]) -> str:
    lanes = " ".join(standing.lanes)
    return (
        f'<article class="wb-claim" id="{standing.id}" '
        f'data-topic="{standing.topic}" data-verdict="{standing.verdict}" '
        f'data-lane="{lanes}" data-freshness="{standing.freshness}">'
        f'<p class="wb-claim-id">{standing.id}</p><div>{_said(standing)}{_found(standing, pages)}'
        f"{opened(standing, pages, changes)}</div>"
        f'<p class="wb-claim-v">{outcome_mark(standing.verdict)}</p></article>'
    )


def _said(standing: Standing) -> str:
    number = f' <span class="wb-number">{escape(standing.number)}</span>' if standing.number else ""
    return f"<p class='wb-claim-said'>{escape(standing.claim)}{number}</p>"


def _found(standing: Standing, pages: Sequence[tuple[str, str]]) -> str:
    links = "".join(f' <a href="{address}">{escape(title)}</a>' for title, address in pages)
    return f'<p class="wb-claim-found">{standing.topic} · {_basis(standing)}{links}</p>'


def _basis(standing: Standing) -> str:
    """What decided, or what could."""
    note = f" {escape(standing.note)}." if standing.note else ""
    if standing.verdict == "not measured":
        return f"no lane with authority has rows yet.{note}"
    if standing.lane is None:
        return f"{_dimension(standing)}{note}" or standing.verdict
    n = f", n = {standing.n}" if standing.n else ""
    value = f", {standing.value}" if standing.value else ""
    stale = ", stale" if standing.freshness == "stale" else ""
    when = day(standing.decided_on)
    return f"{_dimension(standing)}{LANE_BADGES[standing.lane]}, {when}{n}{value}{stale}.{note}"


def _dimension(standing: Standing) -> str:
    return (
        f"on {escape(standing.dimension)}; " if standing.verdict == "depends" and standing.dimension else ""
    )


def changed_words(data: SiteData) -> str:
    """`2 verdicts changed this week`."""
    week = data.today - timedelta(days=7)
    recent = {
        change.claim
        for change in data.changes
        if change.on > week and change.before not in (None, change.after)
    }
    return f"{len(recent) or 'no'} verdict{'' if len(recent) == 1 else 's'} changed this week"


def history(changes: Sequence[Change]) -> str:
    """Recorded verdicts that changed, newest first, with the cause."""
    moved = [change for change in reversed(changes) if change.before not in (None, change.after)]
    if not moved:
        return one_block('<p class="wb-note">No verdict has changed since its first record.</p>')
    rows = [
        [f'<a href="#{c.claim}">{c.claim}</a>', c.before or "", c.after, day(c.on), c.cause] for c in moved
    ]
    return one_block(table(["Claim", "Was", "Is", "Recorded", "Cause"], rows))
