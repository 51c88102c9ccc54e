"""The words that pages say aloud, taken out of them: model answers for the interview and the deck."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import markdown
from jinja2 import Environment, StrictUndefined

from pipeline.errors import InputError
from pipeline.site.blocks import given, quoted
from pipeline.site.facthtml import fact_link
from pipeline.site.page import QuestionPage
from pipeline.site.problems import unknown
from pipeline.site.template import call_blocks
from pipeline.site.whiteboard import inline_html

_PAGE_LINK = re.compile(r"\]\((\.\./)?([\w/-]+)\.md(#[\w-]*)?\)")
_ANCHOR = re.compile(r"</?a\b[^>]*>")
_TITLE = re.compile(r' title="[^"]*"')


@dataclass(frozen=True)
class Spoken:
    """What one page says aloud, HTML.

    Args:
        ask_first: the clarifying questions, empty where the page has none.
        answers: length such as `30 seconds` to the answer of that length.
    """

    ask_first: str
    answers: dict[str, str]


class Aloud:
    """The macros of one page, as they sound on another: every number still leads to its evidence.

    Args:
        page: the page that is heard.
        pages: all question pages by slug.
        questions: address of the folder of questions.
    """

    def __init__(self, page: QuestionPage, pages: Mapping[str, QuestionPage], questions: str) -> None:
        self._page, self._pages, self._questions = page, pages, questions
        self._jinja = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
        # Autoescape would escape the macros' own HTML; facts and given numbers are escaped by their macros.
        self._jinja.globals.update(fact=self.fact, worked=self.worked, given=given, quoted=quoted)

    def fact(self, name: str) -> str:
        """A measured number of the page, or `slug.name` of another one."""
        slug, _, own = name.rpartition(".")
        page = self._pages.get(slug) if slug else self._page
        if page is None:
            raise InputError(unknown("page", slug, self._pages), where=self._page.source.name)
        return fact_link(page.fact(own), self._address(page))

    def worked(self, name: str) -> str:
        """The result of a line of the page's whiteboard."""
        return inline_html(name, self._page.line(name), self._address(self._page))

    def html(self, words: str) -> str:
        """A writer's Markdown with its macros, as HTML on one line."""
        filled = self._jinja.from_string(words).render()
        linked = _PAGE_LINK.sub(self._relink, filled)
        return " ".join(markdown.markdown(linked.strip()).split("\n"))

    def _address(self, page: QuestionPage) -> str:
        return f"{self._questions}{page.source.slug}/"

    def _relink(self, link: re.Match[str]) -> str:
        up, path, anchor = link[1] or "", link[2], link[3] or ""
        return f"]({self._questions}{up}{path}/{anchor})"


def spoken(page: QuestionPage, pages: Mapping[str, QuestionPage], questions: str) -> Spoken:
    """What a page says aloud.

    Args:
        page: the page.
        pages: all question pages by slug, for numbers of other pages.
        questions: address of the folder of questions from where the words will stand.
    """
    aloud, ask, answers = Aloud(page, pages, questions), "", {}
    for block in call_blocks(page.source.body, page.source.body_line):
        if block.name == "say":
            answers[block.argument] = aloud.html(block.words)
        elif block.name == "ask_first":
            ask = aloud.html(block.words)
    return Spoken(ask, answers)


def unlinked(html: str) -> str:
    """The same words where links lead nowhere: on a flash card."""
    return _TITLE.sub("", _ANCHOR.sub("", html))
