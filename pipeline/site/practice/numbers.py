"""Numbers to know: facts and lines of arithmetic as one dense table, each with lane and date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

from pipeline.errors import InputError
from pipeline.schemas.words import Lane
from pipeline.site.facthtml import fact_link
from pipeline.site.facts import Fact
from pipeline.site.html import day, one_block, table
from pipeline.site.page import QuestionPage
from pipeline.site.problems import unknown
from pipeline.site.template import calls
from pipeline.site.whiteboard import inline_html
from pipeline.site.words import NO_VALUE

MACRO = "numbers"
CALCULATED = "calculated"
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Known:
    """One number to know.

    Args:
        name: as the page names it, `fact` or `slug.fact`.
        label: what it is.
        value: linked to its evidence, HTML.
        text: the same without a link.
        lane: evidence lane, or `calculated` for arithmetic on given numbers.
        on: day it was measured, None where nothing was or nothing is needed.
    """

    name: str
    label: str
    value: str
    text: str
    lane: str
    on: date | None


def numbers(
    names: Sequence[str], sheet: QuestionPage, pages: Mapping[str, QuestionPage], questions: str
) -> str:
    """A table of numbers.

    Args:
        names: facts or lines of the sheet, or `slug.name` for those of a question page.
        sheet: the page that lists them.
        pages: question pages by slug.
        questions: address of the folder of questions.

    Raises:
        InputError: there is no such page or number.
    """
    found = [known(name, sheet, pages, questions) for name in names]
    # Units differ from row to row, so decimal points have nothing to line up with.
    rows = [
        [escape(each.label, quote=False), each.value, _lane(each.lane), _when(each)] for each in found
    ]
    return one_block(f'<div class="wb-numbers">{table(["What", "Value", "Lane", "Date"], rows, (1,))}</div>')


def known(name: str, sheet: QuestionPage, pages: Mapping[str, QuestionPage], questions: str) -> Known:
    """One number by name."""
    slug, _, own = name.rpartition(".")
    if slug and slug not in pages:
        raise InputError(unknown("page", slug, pages), where=sheet.source.name)
    page, address = (pages[slug], f"{questions}{slug}/") if slug else (sheet, "")
    if own in page.question.calcs:
        line = page.line(own)
        return Known(
            name, line.title, inline_html(own, line, address), line.result.html, CALCULATED, None
        )
    fact = page.fact(own)
    text = fact.text if fact.value.n else NOT_MEASURED
    return Known(name, fact.spec.label, said(fact, address), text, fact.spec.lane, fact.measured_on)


def said(fact: Fact, address: str = "") -> str:
    """A fact in a sentence to be said aloud: `not measured` where its lane has no rows yet."""
    return fact_link(fact, address).replace(f">{NO_VALUE}<", f">{NOT_MEASURED}<")


def listed(sheet: QuestionPage) -> Iterator[str]:
    """Names of all numbers that a sheet lists, in its order."""
    for call in calls(sheet.source.body, sheet.source.body_line):
        if call.name == MACRO:
            yield from call.arguments


def newest(page: QuestionPage) -> date | None:
    """Day of the newest number of a page."""
    return max((fact.measured_on for fact in page.facts if fact.measured_on), default=None)


def lanes(page: QuestionPage) -> list[Lane]:
    """Lanes that speak on a page, in its order."""
    return list(dict.fromkeys(fact.spec.lane for fact in page.facts if fact.value.n))


def _lane(lane: str) -> str:
    return f'<span class="wb-lane">{lane}</span>'


def _when(each: Known) -> str:
    if each.lane == CALCULATED:
        return "by formula"
    return day(each.on) if each.on else "n/a"
