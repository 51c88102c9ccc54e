"""Whether every query of a page gets an answer: a number that is not there must be wanted so by its author."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from pipeline.errors import InputError
from pipeline.schemas.words import Lane
from pipeline.site.data import SiteData
from pipeline.site.page import QuestionPage
from pipeline.site.problems import Problem, nearest

_COMPARED = re.compile(r"\b(\w+)\s*=\s*'((?:[^']|'')*)'")


def check_queries(page: QuestionPage) -> Iterator[Problem]:
    """Ask for every fact, chart, table and line once: what cannot be asked, and what has no answer."""
    asked: list[tuple[str, Callable[[str], str | None], Iterable[str]]] = [
        ("facts", lambda name: _fact(page, name), page.question.facts),
        ("charts", lambda name: _chart(page, name), page.question.charts),
        ("tables", lambda name: _table(page, name), page.question.tables),
        ("calcs", lambda name: _line(page, name), page.question.calcs),
    ]
    for group, ask, name in ((group, ask, name) for group, ask, names in asked for name in names):
        try:
            message = ask(name)
        except InputError as error:
            file, _, line = (error.where or page.source.name).rpartition(":")
            yield Problem(file or page.source.name, int(line) if line.isdigit() else 1, error.what)
            continue
        if message:
            line_number = page.source.line_of(group, name)
            yield Problem(page.source.name, line_number, f"{group[:-1]} {name!r}: {message}")


def _fact(page: QuestionPage, name: str) -> str | None:
    fact, spec = page.fact(name), page.question.facts[name]
    if not fact.value.n:
        return _nothing(page.data, spec.lane, spec.sql, "the query gives no row")
    if fact.value.value is None and "absent" not in spec.model_fields_set:
        null = "the query gives a null; write what to say then as `absent`, or ask for a row with a value"
        return _nothing(page.data, spec.lane, spec.sql, null)
    return None


def _chart(page: QuestionPage, name: str) -> str | None:
    spec = page.question.charts[name]
    empty = not page.points(name).points
    return _nothing(page.data, spec.lane, spec.sql, "the chart has no data") if empty else None


def _table(page: QuestionPage, name: str) -> str | None:
    spec = page.question.tables[name]
    empty = page.table(name).frame.empty
    return _nothing(page.data, spec.lane, spec.sql, "the table has no rows") if empty else None


def _line(page: QuestionPage, name: str) -> None:
    page.line(name)


def _nothing(data: SiteData, lane: Lane, sql: str, what: str) -> str | None:
    """A lane without any data may be asked in advance; the page then says "not measured"."""
    if data.filled_on(lane) is None:
        return None
    return "; ".join([what, *_hints(data, sql)])


def _hints(data: SiteData, sql: str) -> Iterator[str]:
    """Words in quotes that no row of the views has, each with the nearest one that some row has."""
    for column, word in dict.fromkeys(_COMPARED.findall(sql)):
        known = _words(data, column, sql)
        if known and word not in known:
            yield f"no row has {column} = {word!r}{nearest(word, known)}"


def _words(data: SiteData, column: str, sql: str) -> set[str]:
    views = [v for v, name, kind, _ in data.columns if name == column and kind == "VARCHAR"]
    named = [view for view in views if re.search(rf"\b{view}\b", sql)]
    found: set[str] = set()
    for view in named:
        frame = data.rows(f'SELECT DISTINCT "{column}" AS word FROM {view} WHERE "{column}" IS NOT NULL')  # noqa: S608
        found |= set(frame["word"])
    return found
