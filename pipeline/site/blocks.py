"""A writer's words on a page: what to say, what is given, what is quoted, contrasts."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.schemas.question import Contrast
from pipeline.site.html import attribute, one_block

Fill = Callable[[str], str]
"""Puts facts in the place of {name}."""

SIGNS = {"bad": ("✕", "BAD"), "good": ("✓", "GOOD"), "taught": ("△", "Widely taught, wrong")}


def given(text: str) -> str:
    """A number that the question states; nobody measured it."""
    return f'<span class="wb-given" title="given by the question">{attribute(text)}</span>'


def quoted(text: str, source: str) -> str:
    """A number that a source states; it is shown as theirs."""
    mark = f'<span class="wb-source">as {attribute(source)} states</span>'
    title = f"stated by {attribute(source)}, not measured here"
    return f'<q class="wb-quoted" title="{title}">{attribute(text)}</q> {mark}'


def say(length: str, words: str) -> str:
    """`Say this in 30 seconds`: words to be spoken aloud, Markdown."""
    kicker = f'<p class="wb-kicker">Say this in {length}</p>'
    return f'\n\n<section class="wb-say" markdown>\n{kicker}\n\n{words.strip()}\n\n</section>\n\n'


def ask_first(words: str) -> str:
    """The two clarifying questions a prompt hinges on, Markdown."""
    return f'\n\n<div class="wb-ask" markdown>\n\n**Ask first.** {words.strip()}\n\n</div>\n\n'


def board(lines: str) -> str:
    """The whiteboard: one line of arithmetic each."""
    inner = "".join(line.strip() for line in lines.strip().splitlines())
    return one_block(f'<div class="wb-board" tabindex="0" role="group" aria-label="Whiteboard">{inner}</div>')


def contrast(name: str, spec: Contrast, fill: Fill) -> str:
    """A wrong answer with what refutes it, beside the answer to give instead."""
    wrong = _card(
        spec.label,
        spec.says,
        [("Refuted by", spec.refuted), ("Right when", spec.right_when)],
        fill,
    )
    notes = [("Why it is better", spec.good_because)]
    notes += [("If the interviewer says it", spec.polite)] if spec.polite else []
    right = _card("good", spec.good, notes, fill)
    return one_block(f'<div class="wb-pair" id="contrast-{name.replace("_", "-")}">{wrong}{right}</div>')


def _card(label: str, says: str, notes: list[tuple[str, str]], fill: Fill) -> str:
    sign, word = SIGNS[label]
    rows = "".join(f'<p class="wb-why"><b>{head}</b> {inline(fill(text))}</p>' for head, text in notes)
    return (
        f'<div class="wb-card wb-{label}">'
        f'<p class="wb-kicker"><span aria-hidden="true">{sign}</span> {word}</p>'
        f"<blockquote><p>“{inline(fill(says))}”</p></blockquote>{rows}</div>"
    )


def inline(text: str) -> str:
    """The two marks a short text may use: `code` and **bold**."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", re.sub(r"`([^`]+)`", r"<code>\1</code>", text))
