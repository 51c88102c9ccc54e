"""One question page with its numbers: facts, lines of arithmetic and charts by name, each asked for once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import NoReturn, TypeVar

from pipeline.errors import InputError, WeighbridgeError
from pipeline.site.blocks import given
from pipeline.site.charts.points import Points, collect
from pipeline.site.data import SiteData
from pipeline.site.expression import BadExpression
from pipeline.site.facthtml import fact_link
from pipeline.site.facts import Fact, QueryShape, measure
from pipeline.site.frontmatter import PageSource
from pipeline.site.problems import unknown
from pipeline.site.tablehtml import TableRows, collect_table
from pipeline.site.whiteboard import Line, Quantity, given_quantity, inline_html, work_out

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
GIVEN = re.compile(r"\{given ([^{}]+)\}")
Found = TypeVar("Found")


class QuestionPage:
    """A page's front matter brought together with the data.

    Args:
        source: the page as written.
        data: what the store and the verdict engine give.
    """

    def __init__(self, source: PageSource, data: SiteData) -> None:
        self.source, self.question, self.data = source, source.question, data
        self._facts: dict[str, Fact] = {}
        self._points: dict[str, Points] = {}
        self._open: set[str] = set()

    def fact(self, name: str) -> Fact:
        """A fact of this page.

        Raises:
            InputError: there is no such fact, or its query is wrong; says file, line and known names.
        """
        spec = self.question.facts.get(name) or self._unknown("fact", name, self.question.facts)
        if name not in self._facts:
            data = self.data
            self._facts[name] = self._asked(
                ("facts", name), lambda: measure(name, spec, data.rows, data.runs, data.local, data.computed)
            )
        return self._facts[name]

    @property
    def facts(self) -> list[Fact]:
        """All facts in the order of the page."""
        return [self.fact(name) for name in self.question.facts]

    def points(self, name: str) -> Points:
        """What a chart of this page draws."""
        spec = self.question.charts.get(name) or self._unknown("chart", name, self.question.charts)
        if name not in self._points:
            self._points[name] = self._asked(
                ("charts", name), lambda: collect(spec, self.data.rows, self.data.runs, self.data.computed)
            )
        return self._points[name]

    def table(self, name: str) -> TableRows:
        """Rows of a table of this page."""
        spec = self.question.tables.get(name) or self._unknown("table", name, self.question.tables)
        data = self.data
        return self._asked(
            ("tables", name), lambda: collect_table(spec, data.rows, data.runs, data.computed)
        )

    def line(self, name: str) -> Line:
        """A line of whiteboard arithmetic."""
        spec = self.question.calcs.get(name) or self._unknown("calc", name, self.question.calcs)
        if name in self._open:
            raise InputError(f"calc {name!r} needs itself", where=self._where("calcs", name))
        self._open.add(name)
        try:
            inputs = {key: self.quantity(text) for key, text in spec.inputs.items()}
        finally:
            self._open.discard(name)
        return self._asked(("calcs", name), lambda: work_out(spec, inputs))

    def quantity(self, text: str) -> Quantity:
        """A fact, a line, or a given number, as something to calculate with."""
        if text in self.question.facts:
            fact = self.fact(text)
            return Quantity(fact.value.value, fact.spec.unit, fact_link(fact))
        if text in self.question.calcs:
            result = self.line(text).result
            return Quantity(result.value, result.unit, inline_html(text, self.line(text)))
        return given_quantity(text) or self._unknown("fact, calc or given number", text, self._names)

    def fill(self, text: str, page: str = "") -> str:
        """HTML of a text: {name} becomes a link to its evidence, {given 20 ms} is marked as given."""
        safe = GIVEN.sub(lambda match: given(match[1]), escape(text, quote=False))
        return PLACEHOLDER.sub(lambda match: self._link(match[1], page), safe)

    def plain(self, text: str) -> str:
        """Text with {name} replaced by values, without mark-up."""
        return PLACEHOLDER.sub(lambda match: self._text(match[1]), GIVEN.sub(r"\1", text))

    @property
    def _names(self) -> list[str]:
        return [*self.question.facts, *self.question.calcs]

    def _link(self, name: str, page: str) -> str:
        if name in self.question.calcs:
            return inline_html(name, self.line(name), page)
        return fact_link(self.fact(name), page) if name in self.question.facts else self._lost(name)

    def _text(self, name: str) -> str:
        if name in self.question.calcs:
            return self.line(name).result.html
        return self.fact(name).text if name in self.question.facts else self._lost(name)

    def _lost(self, name: str) -> NoReturn:
        self._unknown("fact", name, self._names)

    def _unknown(self, kind: str, name: str, known: Iterable[str]) -> NoReturn:
        raise InputError(unknown(kind, name, known), where=self.source.name)

    def _asked(self, entry: tuple[str, str], ask: Callable[[], Found]) -> Found:
        """Run a query; what is wrong with it is said with the page's file and line."""
        try:
            return ask()
        except (QueryShape, BadExpression) as error:
            message = str(error)
        except WeighbridgeError as error:
            message = error.what
        raise InputError(f"{entry[0][:-1]} {entry[1]!r}: {message}", where=self._where(*entry))

    def _where(self, *entry: str) -> str:
        return f"{self.source.name}:{self.source.line_of(*entry)}"
