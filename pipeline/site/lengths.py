"""Ceilings on lengths: what is said in 30 seconds has 80 words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.site.frontmatter import PageSource
from pipeline.site.problems import Problem
from pipeline.site.template import MacroCall, call_blocks, word_count

ANSWER_WORDS = 25
SPOKEN_WORDS = {"30 seconds": 80, "2 minutes": 250}
CHARTS = 3
CONTRASTS = 4
BOARD_LINES = 8


def check_lengths(source: PageSource, found: Sequence[MacroCall]) -> Iterator[Problem]:
    """What is longer than a reader's hour allows."""
    yield from _over(
        source, "answer", source.line_of("answer"), word_count(source.question.answer), ANSWER_WORDS
    )
    for block in call_blocks(source.body, source.body_line):
        if block.name == "say" and block.argument in SPOKEN_WORDS:
            words, most = word_count(block.words), SPOKEN_WORDS[block.argument]
            yield from _over(source, f"say {block.argument}", block.line, words, most)
    for name, most in (("chart", CHARTS), ("calc", BOARD_LINES)):
        number = sum(call.name == name for call in found)
        if number > most:
            yield Problem(source.name, source.body_line, f"{number} {name}s, the ceiling is {most}")
    if len(source.question.contrasts) > CONTRASTS:
        yield Problem(source.name, source.line_of("contrasts"), f"more than {CONTRASTS} contrasts")


def _over(source: PageSource, what: str, line: int, words: int, most: int) -> Iterator[Problem]:
    if words > most:
        yield Problem(source.name, line, f"{what} has {words} words, the ceiling is {most}")
