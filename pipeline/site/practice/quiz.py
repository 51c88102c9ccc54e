"""BAD or GOOD: every contrast of every page as two things that are said, to be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from pipeline.schemas.question import Contrast
from pipeline.site.blocks import SIGNS, inline
from pipeline.site.html import one_block
from pipeline.site.page import QuestionPage


@dataclass(frozen=True)
class Item:
    """One thing that is said in an interview.

    Args:
        key: stable name, `slug.contrast.side`.
        label: bad, good or taught.
        asked: title of the page it belongs to.
        address: of that page, with the contrast.
        says: the words, HTML.
        notes: what the answer explains: (head, HTML).
    """

    key: str
    label: str
    asked: str
    address: str
    says: str
    notes: tuple[tuple[str, str], ...]


def items(pages: Sequence[QuestionPage], questions: str) -> list[Item]:
    """Both sides of every contrast, page by page.

    Args:
        pages: question pages.
        questions: address of the folder of questions from where the quiz stands.
    """
    return [
        item
        for page in pages
        for name, spec in page.question.contrasts.items()
        for item in _sides(page, name, spec, f"{questions}{page.source.slug}/")
    ]


def _sides(page: QuestionPage, name: str, spec: Contrast, address: str) -> Iterator[Item]:
    def words(text: str) -> str:
        return inline(page.fill(text, address))

    place = f"{address}#contrast-{name.replace('_', '-')}"
    wrong = (
        ("Refuted by", words(spec.refuted)),
        ("Right when", words(spec.right_when)),
        ("Say instead", words(spec.good)),
    )
    right = (
        ("Why it is better", words(spec.good_because)),
        ("It replaces", f"“{words(spec.says)}”"),
    )
    key, asked = f"{page.source.slug}.{name}", page.question.title
    yield Item(f"{key}.said", spec.label, asked, place, words(spec.says), wrong)
    yield Item(f"{key}.good", "good", asked, place, words(spec.good), right)


def quiz(pages: Sequence[QuestionPage], questions: str) -> str:
    """The quiz; without a script all items are listed, each with its answer folded behind it."""
    listed = "".join(_item(item) for item in items(pages, questions))
    buttons = "".join(
        f'<button type="button" class="wb-button wb-{label}" data-answer="{label}">'
        f'<span aria-hidden="true">{sign}</span> {word}</button>'
        for label, (sign, word) in SIGNS.items()
    )
    return one_block(
        '<section class="wb-quiz" aria-label="BAD or GOOD">'
        '<p class="wb-standing" hidden aria-live="polite"></p>'
        f'<div class="wb-items">{listed}</div>'
        f'<div class="wb-choices" role="group" aria-label="Your verdict" hidden>{buttons}</div>'
        '<div class="wb-next" hidden><p class="wb-heard" tabindex="-1"></p>'
        '<button type="button" class="wb-button wb-main" data-do="next">Next</button></div>'
        '<p class="wb-quiz-foot" hidden><button type="button" class="wb-button" data-do="forget">'
        "Forget my answers</button> Kept in this browser only.</p></section>"
    )


def _item(item: Item) -> str:
    sign, word = SIGNS[item.label]
    notes = "".join(f'<p class="wb-why"><b>{head}</b> {text}</p>' for head, text in item.notes)
    return (
        f'<article class="wb-item" data-key="{item.key}" data-label="{item.label}" data-word="{word}">'
        f'<p class="wb-kicker">{escape(item.asked)}</p>'
        f'<blockquote tabindex="-1"><p>“{item.says}”</p></blockquote>'
        f'<details class="wb-reveal"><summary>Answer</summary>'
        f'<p class="wb-mark wb-{item.label}"><span aria-hidden="true">{sign}</span> {word}</p>{notes}'
        f'<p><a href="{item.address}">The page</a></p></details></article>'
    )
