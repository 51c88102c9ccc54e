"""The head of a question page: banner where the data left the prose, verdict line, badges, date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from pipeline.schemas.words import MEASURED_LANES, Outcome
from pipeline.site.basis import Basis
from pipeline.site.claims import Standing, lane_badge, outcome_mark
from pipeline.site.facts import Fact
from pipeline.site.html import day, one_block
from pipeline.site.page import QuestionPage
from pipeline.site.words import css_word

WORDS_A_MINUTE = 220


def verdict_head(page: QuestionPage, ledger: str) -> str:
    """Banner, verdict line and badges of a page.

    Args:
        page: the page.
        ledger: address of the claim ledger.
    """
    standings = standings_of(page)
    return banner(page) + one_block(
        f'<div class="wb-verdict wb-{css_word(standings[0].verdict)}">'
        f"<p>{page.fill(page.question.answer)}</p></div>"
        f'<div class="wb-meta">{_badges(page, standings, ledger)}{_small(page)}</div>'
    )


def standings_of(page: QuestionPage) -> list[Standing]:
    """Claims of a page; the first one is the one its verdict line answers."""
    return [page.data.claims[claim] for claim in page.question.written_for]


def left_verdict(page: QuestionPage) -> list[tuple[Standing, Outcome]]:
    """Claims whose verdict is no longer the one the prose was written for."""
    written = page.question.written_for
    return [
        (page.data.claims[claim], was)
        for claim, was in written.items()
        if page.data.claims[claim].verdict != was
    ]


def banner(page: QuestionPage) -> str:
    """Says that the data moved on; empty while prose and data agree."""
    moved = left_verdict(page)
    if not moved:
        return ""
    said = "; ".join(
        f"{standing.id} was {was}, the data now say {standing.verdict}" for standing, was in moved
    )
    return one_block(
        f'<div class="wb-banner" role="note"><b>The data have moved on.</b> '
        f"The words below were written for another verdict ({said}). "
        "The numbers are today's; the sentences around them wait for their author.</div>"
    )


def moved_list(pages: Sequence[QuestionPage], address: str) -> str:
    """Pages that wait for their author because the data left their verdict."""
    items = "".join(
        f'<li><a href="{address}{page.source.slug}/">{escape(page.question.title)}</a>: '
        f"{standing.id} was written for {was}, the data say {standing.verdict}</li>"
        for page in pages
        for standing, was in left_verdict(page)
    )
    return one_block(f"<ul>{items}</ul>" if items else '<p class="wb-note">None: prose and data agree.</p>')


def moved_row(pages: Sequence[QuestionPage], address: str) -> str:
    """One line for the home page: the same pages; empty while prose and data agree."""
    links = ", ".join(
        f'<a href="{address}{page.source.slug}/">{escape(page.question.title)}</a>'
        for page in pages
        if left_verdict(page)
    )
    return f"<span>The data have moved on from the words of: {links}</span>" if links else ""


def newest_of(facts: Sequence[Fact]) -> Basis | None:
    """What the newest of the facts stands on; a measured one speaks before a computed one."""
    bases = [fact.basis for fact in facts if fact.basis]
    return max(bases, key=lambda basis: (basis.lane in MEASURED_LANES, basis.on), default=None)


def unmeasured(page: QuestionPage) -> str:
    """What stands in the place of a date where no number of a page is measured."""
    settled = all(standing.verdict in ("reported", "definition") for standing in standings_of(page))
    return "reported, never measured" if settled else "not measured yet"


def reading_minutes(markdown: str) -> int:
    """Minutes to read a page, macros counted as a word each."""
    words = re.sub(r"\{[{%].*?[}%]\}", " word ", markdown, flags=re.DOTALL).split()
    return max(1, round(len(words) / WORDS_A_MINUTE))


def _badges(page: QuestionPage, standings: list[Standing], ledger: str) -> str:
    marks = "".join(_badge(standing, ledger) for standing in standings)
    lanes = "".join(lane_badge(fact.spec.lane) for fact in _one_each(page.facts))
    return marks + lanes


def _badge(standing: Standing, ledger: str) -> str:
    stale = " · stale" if standing.freshness == "stale" else ""
    return (
        f'<a class="wb-badge wb-state wb-{css_word(standing.verdict)}" href="{ledger}#{standing.id}" '
        f'title="{standing.claim}">{standing.id} {outcome_mark(standing.verdict, standing.words + stale)}</a>'
    )


def _one_each(facts: Sequence[Fact]) -> list[Fact]:
    """A fact of each lane that gave a value: a badge for a lane without one would say what is not so."""
    return list({fact.spec.lane: fact for fact in facts if fact.value.n}.values())


def _small(page: QuestionPage) -> str:
    newest = newest_of(page.facts)
    basis = [day(newest.on), newest.versions] if newest else [unmeasured(page)]
    parts = [*basis, f"{reading_minutes(page.source.body)} min", page.question.level]
    return f"<span>{' · '.join(parts)}</span>"
