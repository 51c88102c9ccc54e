"""The mock interview: a card for each question, the model answer folded behind it, and a form to score it.

Without a script all cards are listed and open by hand; docs/assets/interview.js draws one and keeps time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from pipeline.site.claims import Standing
from pipeline.site.html import attribute, one_block
from pipeline.site.index import SECTIONS, section_of
from pipeline.site.page import QuestionPage
from pipeline.site.practice import rubric
from pipeline.site.practice.spoken import Spoken

SECONDS = {"30 seconds": 30, "2 minutes": 120}


def interview(
    cards: Sequence[tuple[QuestionPage, Spoken]], claims: Mapping[str, Standing], questions: str, ledger: str
) -> str:
    """The whole mock interview.

    Args:
        cards: question pages with what they say aloud, in the order of their numbers.
        claims: standings by id, for the reported rubrics.
        questions: address of the folder of questions.
        ledger: address of the claim ledger.
    """
    listed = "".join(_card(page, said, questions) for page, said in cards)
    return one_block(
        f'<section class="wb-interview" aria-label="Mock interview">{_draw(cards)}{_stage()}'
        f'<div class="wb-drills">{listed}</div>{_score(claims, ledger)}{_progress()}</section>'
    )


def _draw(cards: Sequence[tuple[QuestionPage, Spoken]]) -> str:
    sections = [name for name in SECTIONS if any(_section(page) == name for page, _ in cards)]
    levels = list(dict.fromkeys(page.question.level for page, _ in cards))
    options = "".join(f'<option value="{seconds}">{words}</option>' for words, seconds in SECONDS.items())
    return (
        '<form class="wb-draw" hidden>'
        f"{_select('topic', sections)}{_select('level', sorted(levels))}"
        f'<label>Answer in <select name="seconds">{options}</select></label>'
        '<button type="submit" class="wb-button wb-main">Draw a question</button>'
        '<output class="wb-left"></output></form>'
    )


def _select(name: str, values: Sequence[str]) -> str:
    options = "".join(f'<option value="{attribute(value)}">{escape(value)}</option>' for value in values)
    return (
        f'<label>{name.capitalize()} <select name="{name}"><option value="">any</option>'
        f"{options}</select></label>"
    )


def _stage() -> str:
    return (
        '<div class="wb-clock" hidden><span class="wb-time" role="timer" aria-label="Time left"></span>'
        '<progress class="wb-run-down" max="1" value="1" aria-hidden="true"></progress>'
        '<button type="button" class="wb-button" data-do="start">Start the timer</button>'
        '<button type="button" class="wb-button" data-do="reveal">Reveal the answer</button>'
        '<p class="wb-hidden" aria-live="polite"></p></div>'
    )


def _card(page: QuestionPage, said: Spoken, questions: str) -> str:
    question, address = page.question, f"{questions}{page.source.slug}/"
    section = _section(page)
    return (
        f'<article class="wb-drill" data-slug="{page.source.slug}" data-topic="{attribute(section)}" '
        f'data-level="{question.level}"><p class="wb-kicker">{escape(section)} · {question.level}</p>'
        f'<h2 tabindex="-1">{escape(question.title)}</h2>'
        f'<details class="wb-reveal"><summary>Model answer</summary>{_answer(page, said, address)}'
        "</details></article>"
    )


def _answer(page: QuestionPage, said: Spoken, address: str) -> str:
    ask = f"<p><b>Ask first.</b></p>{said.ask_first}" if said.ask_first else ""
    parts = "".join(
        f'<section class="wb-say"><p class="wb-kicker">Say this in {escape(length)}</p>{words}</section>'
        for length, words in said.answers.items()
    )
    verdict = f'<p class="wb-in-short"><b>In one sentence.</b> {page.fill(page.question.answer, address)}</p>'
    return f'{ask}{parts}{verdict}<p><a href="{address}">The whole page, with charts and evidence</a></p>'


def _section(page: QuestionPage) -> str:
    return section_of(page.question.topic)


def _score(claims: Mapping[str, Standing], ledger: str) -> str:
    return (
        '<form class="wb-score" hidden aria-label="Score your answer"><h2 tabindex="-1">Score your answer</h2>'
        '<p class="wb-note">Both rubrics are what preparation articles report '
        f"({_claim(rubric.MEMORY_CLAIM, ledger)}, {_claim(rubric.ROUTING_CLAIM, ledger)}). "
        "Nobody measured them; they are good for listening to oneself.</p>"
        f"{_memory()}{_routing(claims)}{_flags(ledger)}</form>"
    )


def _memory() -> str:
    boxes = "".join(_check("memory", criterion) for criterion in rubric.MEMORY)
    return (
        "<fieldset><legend>Memory rubric, as reported: one point each</legend>"
        f'{boxes}<output class="wb-sum" data-sum="memory"></output></fieldset>'
    )


def _routing(claims: Mapping[str, Standing]) -> str:
    rows = "".join(_degrees(criterion) for criterion in rubric.ROUTING)
    pairs = rubric.weightings(claims)
    words = " and ".join(f"{routing}:{memory}" for routing, memory in pairs)
    sums = "".join(
        f'<output class="wb-sum" data-sum="routing" data-routing="{routing}" data-memory="{memory}"></output>'
        for routing, memory in pairs
    )
    legend = f"Routing rubric, as reported: routing to memory {words}"
    return f"<fieldset><legend>{legend}</legend>{rows}{sums}</fieldset>"


def _degrees(criterion: rubric.Criterion) -> str:
    name = f"weight-{criterion.key}"
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"> {words}</label>'
        for value, words in rubric.DEGREES
    )
    return (
        f'<div class="wb-degree" role="radiogroup" aria-label="{criterion.title}"><span><b>'
        f"{criterion.title}</b> {criterion.asks}</span>{radios}</div>"
    )


def _flags(ledger: str) -> str:
    boxes = "".join(_check("flag", criterion) for criterion in rubric.FLAGS)
    claims = ", ".join(_claim(claim, ledger) for claim in rubric.FLAG_CLAIMS)
    return f"<fieldset><legend>Red flags, as reported</legend>{boxes}<p class='wb-note'>{claims}</p></fieldset>"


def _check(group: str, criterion: rubric.Criterion) -> str:
    return (
        f'<label class="wb-tick"><input type="checkbox" name="{group}-{criterion.key}"> '
        f"<span><b>{criterion.title}</b> {criterion.asks}</span></label>"
    )


def _claim(claim: str, ledger: str) -> str:
    return f'<a href="{ledger}#{claim}">claim {claim}</a>'


def _progress() -> str:
    return (
        '<section class="wb-progress" hidden aria-label="Progress"><h2>Progress</h2>'
        '<p class="wb-summary"></p><ul></ul>'
        '<button type="button" class="wb-button" data-do="forget">Forget my progress</button>'
        '<p class="wb-note">Kept in this browser only. Nothing is sent anywhere.</p></section>'
    )
