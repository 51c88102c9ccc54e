"""The list of questions: finished pages by topic, and those that wait for a lane."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any

from pydantic import Field

from pipeline.schemas.base import Authored
from pipeline.schemas.words import Lane, Topic
from pipeline.site.claims import outcome_mark
from pipeline.site.data import SiteData
from pipeline.site.html import attribute, day, one_block
from pipeline.site.page import QuestionPage
from pipeline.site.verdicthtml import newest_of, standings_of, unmeasured

SECTIONS: dict[str, tuple[Topic, ...]] = {
    "Memory": ("memory", "feasibility", "hardware"),
    "Latency and throughput": ("latency",),
    "Cost and compute density": ("cost",),
    "Routing": ("routing",),
    "Craft": ("craft", "pay"),
}
LEDGER = "../claims/"
HEADLINES = 3
WAITING = Path(__file__).with_name("waiting.toml")


class Waiting(Authored):
    """A question that has no page yet."""

    number: int = Field(ge=1)
    title: str
    topic: Topic
    claims: tuple[str, ...]


def waiting_questions(path: Path = WAITING) -> list[Waiting]:
    """Questions that wait for a lane; none once every question has its page."""
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Waiting.model_validate(each) for each in content.get("question", [])]


def section_of(topic: Topic) -> str:
    """Heading under which a topic is listed."""
    return next(name for name, topics in SECTIONS.items() if topic in topics)


def question_index(pages: Sequence[QuestionPage], data: SiteData) -> str:
    """All questions by section: finished ones with their verdict, the others with lanes to settle them."""
    done = {page.question.number for page in pages}
    waiting = [each for each in waiting_questions() if each.number not in done]
    return "".join(_section(name, pages, waiting, data) for name in SECTIONS)


def _section(name: str, pages: Sequence[QuestionPage], waiting: Sequence[Waiting], data: SiteData) -> str:
    rows = {
        page.question.number: headline(page, f"{page.source.slug}/", LEDGER)
        for page in pages
        if section_of(page.question.topic) == name
    }
    rows |= {each.number: _waiting(each, data) for each in waiting if section_of(each.topic) == name}
    listed = "".join(rows[number] for number in sorted(rows))
    return f"\n\n## {name}\n\n" + one_block(f'<div class="wb-list">{listed}</div>') if rows else ""


def headline_pages(pages: Sequence[QuestionPage], data: SiteData) -> list[QuestionPage]:
    """Pages for the home page: those whose verdict changed this week, then the first decided of each section.

    At most one a section and `HEADLINES` in all, so that the home page stays one screen.
    """
    week = data.today - timedelta(days=7)
    moved = {each.claim for each in data.changes if each.on > week and each.before not in (None, each.after)}
    ranked = sorted(pages, key=lambda page: (_rank(page, moved), page.question.number))
    first: dict[str, QuestionPage] = {}
    for page in ranked:
        first.setdefault(section_of(page.question.topic), page)
    return sorted(list(first.values())[:HEADLINES], key=lambda page: page.question.number)


def _rank(page: QuestionPage, moved: Collection[str]) -> int:
    leading = standings_of(page)[0]
    if leading.id in moved:
        return 0
    return 1 if leading.lane else 2


def headline(page: QuestionPage, address: str, ledger: str) -> str:
    """One row: verdict with its claim, question, finding in a sentence, lane and date.

    Args:
        page: the question page.
        address: of that page.
        ledger: address of the claim ledger.
    """
    first, newest = standings_of(page)[0], newest_of(page.facts)
    finding = page.fill(page.question.headline or page.question.answer, address)
    when = f"{newest.lane} · {day(newest.on)}" if newest else unmeasured(page)
    claim = f'<a href="{ledger}#{first.id}" title="{attribute(first.claim)}">claim {first.id}</a>'
    return (
        f'<div class="wb-row"><span class="wb-verdict-of">{outcome_mark(first.verdict)}{claim}</span>'
        f'<div class="wb-t"><a href="{address}">{escape(page.question.title)}</a><p>{finding}</p></div>'
        f'<span class="wb-d">{when}</span></div>'
    )


def _waiting(each: Waiting, data: SiteData) -> str:
    lanes = list(dict.fromkeys(lane for claim in each.claims for lane in _lanes(claim, data)))
    settle = f"could be settled by: {', '.join(lanes)}" if lanes else "a matter of craft, not of measurement"
    return (
        f'<div class="wb-row wb-waiting"><span class="wb-verdict-of">'
        f'{outcome_mark("not measured", "not yet measured")}</span><div class="wb-t">'
        f"<b>{escape(each.title)}</b><p>{settle} · claims {', '.join(each.claims)}</p></div></div>"
    )


def _lanes(claim: str, data: SiteData) -> tuple[Lane, ...]:
    return data.claims[claim].lanes if claim in data.claims else ()
