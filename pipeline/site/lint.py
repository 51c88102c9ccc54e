"""Checks of pages before anything is built: everything wrong is listed at once, with file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from jinja2 import TemplateSyntaxError

from pipeline.analysis.claims import load_claim
from pipeline.analysis.verdicts import weigh
from pipeline.errors import CheckFailed, InputError, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.schemas.sheet import Sheet
from pipeline.site.addresses import check_addresses
from pipeline.site.asked import check_queries
from pipeline.site.data import SiteData
from pipeline.site.foreign import active_elements, check_foreign, check_names
from pipeline.site.frontmatter import PageSource, Unreadable, body_of, practice_files, question_files, read_page, readable_pages, text_of
from pipeline.site.lengths import check_lengths
from pipeline.site.loading import load
from pipeline.site.page import PLACEHOLDER, QuestionPage
from pipeline.site.problems import Problem, shown, unknown
from pipeline.site.prose import typed_numbers
from pipeline.site.skeleton import left_to_replace
from pipeline.site.template import MacroCall, calls, syntax_problem
from pipeline.site.verdicthtml import left_verdict
from pipeline.site.vocabulary import MACROS

REQUIRED = ("verdict", "evidence")


def readable(ws: Workspace) -> SiteData | None:
    """All that pages can ask for; None where claims are wrong, and `check_docs` then says how."""
    try:
        return load(ws)
    except (InputError, CheckFailed):
        return None


def check_docs(
    ws: Workspace, docs: Path, only: Path | None = None, data: SiteData | None = None
) -> list[Problem]:
    """Everything that is wrong with the pages, or with one of them.

    Args:
        ws: whose data the pages speak from.
        docs: folder of the pages.
        only: the one page to check; all if None.
        data: what the pages ask, read here if None.

    Raises:
        InputError: the page does not exist.
        DataError, CheckFailed: stored data or claim files are wrong.
    """
    paths = _chosen(docs, only)
    try:
        data = data or load(ws)
    except (InputError, CheckFailed) as error:
        # Wrong claims and wrong pages are told together; what a page asks of the data waits for the claims.
        found = [Problem(shown(Path(error.where or ws.claims), ws.root), 1, error.what)]
        return sorted([*found, *(each for path in paths for each in _words(path, docs))])
    found = [each for path in paths for each in _checked(path, docs, data)]
    return sorted(found if only else [*found, *_between(docs)])


def _checked(path: Path, docs: Path, data: SiteData) -> Iterator[Problem]:
    if path in question_files(docs):
        return check_question(path, docs.parent, data)
    found = check_plain(path, docs.parent)
    return chain(found, check_sheet(path, docs.parent, data)) if path in practice_files(docs) else found


def _words(path: Path, docs: Path) -> Iterator[Problem]:
    """What can be said of a page without any data."""
    if path not in question_files(docs):
        yield from check_plain(path, docs.parent)
        return
    try:
        source = read_page(path, docs.parent)
    except Unreadable as unreadable:
        yield from unreadable.problems
        return
    yield from _written(source)


def check_plain(path: Path, root: Path) -> Iterator[Problem]:
    """A page that asks no question of its own: macros it calls, and numbers typed by hand."""
    name = shown(path, root)
    try:
        body, first = body_of(text_of(path, name))
    except Unreadable as unreadable:
        yield from unreadable.problems
        return
    try:
        yield from _unknown_macros(name, calls(body, first))
    except TemplateSyntaxError as error:
        yield syntax_problem(name, error, first)
    yield from _typed(name, body, first)
    yield from active_elements(name, body, first)


def check_question(path: Path, root: Path, data: SiteData) -> Iterator[Problem]:
    """A question page: front matter, names, queries, numbers typed by hand, lengths."""
    try:
        source = read_page(path, root)
    except Unreadable as unreadable:
        yield from unreadable.problems
        return
    yield from _claims(source, data)
    yield from check_queries(QuestionPage(source, data))
    yield from _written(source)


def _written(source: PageSource) -> Iterator[Problem]:
    """A page as written: names, numbers typed by hand, foreign matter, lengths."""
    yield from check_foreign(source)
    yield from check_names(source)
    yield from _placeholders(source)
    yield from _typed(source.name, source.body, source.body_line)
    yield from _typed_in_front(source)
    try:
        found = calls(source.body, source.body_line)
    except TemplateSyntaxError as error:
        yield syntax_problem(source.name, error, source.body_line)
        return
    yield from _unknown_macros(source.name, found)
    yield from _names(source, found)
    yield from _required(source, found)
    yield from check_lengths(source, found)


def check_sheet(path: Path, root: Path, data: SiteData) -> Iterator[Problem]:
    """A practice page's front matter and the names that its text uses; the text itself is a plain page's."""
    try:
        source = read_page(path, root, Sheet)
        found = calls(source.body, source.body_line)
    except Unreadable as unreadable:
        yield from unreadable.problems
        return
    except TemplateSyntaxError:
        return
    yield from check_queries(QuestionPage(source, data))
    yield from check_foreign(source)
    yield from check_names(source)
    yield from _placeholders(source)
    yield from _typed_in_front(source)
    yield from _names(source, found)


def _chosen(docs: Path, only: Path | None) -> Sequence[Path]:
    if only is None:
        return sorted(docs.rglob("*.md"))
    if not only.is_file():
        raise InputError(
            "there is no such page", where=str(only), next_step=f"pages are Markdown files below {docs}"
        )
    return [only.resolve()]


def _claims(source: PageSource, data: SiteData) -> Iterator[Problem]:
    for claim in source.question.written_for:
        if claim not in data.claims:
            yield Problem(
                source.name, source.line_of("written_for", claim), unknown("claim", claim, data.claims)
            )


def _placeholders(source: PageSource) -> Iterator[Problem]:
    known = [*source.question.facts, *source.question.calcs]
    for keys, text in texts_of(source):
        for match in PLACEHOLDER.finditer(text):
            if match[1] not in known:
                yield Problem(source.name, source.line_of(*keys), unknown("fact", match[1], known))


def texts_of(source: PageSource) -> Iterator[tuple[tuple[str, ...], str]]:
    """Texts of the front matter that readers see and that may use {name}, with their place.

    What people say wrongly (`says`) and how to answer them (`polite`) are speech: no number in them is ours.
    """
    question = source.question
    yield ("answer",), question.answer
    if question.headline:
        yield ("headline",), question.headline
    for name, chart in question.charts.items():
        yield ("charts", name, "title"), chart.title
        yield ("charts", name, "caption"), chart.caption
    for name, table in question.tables.items():
        yield ("tables", name, "title"), table.title
        yield ("tables", name, "caption"), table.caption
    for name, calc in question.calcs.items():
        yield ("calcs", name, "note"), calc.note
    for name, picture in question.pictures.items() if isinstance(question, Sheet) else ():
        yield ("pictures", name), " ".join(picture.texts)
    for name, contrast in question.contrasts.items():
        for field in ("refuted", "right_when", "good", "good_because"):
            yield ("contrasts", name, field), getattr(contrast, field)


def _typed(name: str, text: str, first: int) -> Iterator[Problem]:
    for line, number in typed_numbers(text):
        yield Problem(name, line + first - 1, _by_hand(number))


def _typed_in_front(source: PageSource) -> Iterator[Problem]:
    for keys, text in texts_of(source):
        for _, number in typed_numbers(text):
            yield Problem(source.name, source.line_of(*keys), _by_hand(number, in_field=True))


def _by_hand(number: str, *, in_field: bool = False) -> str:
    if in_field:
        ways = "{name} of a fact or a calc, or {given " + number + "} if the question states it"
    else:
        ways = (
            f'{{{{ fact("name") }}}} if measured, {{{{ given("{number}") }}}} if the question states it, '
            f'{{{{ quoted("{number}", "source") }}}} if a source does, {{{{ worked("name") }}}} if calculated'
        )
    return f"{number!r} is typed by hand; write {ways}"


def _unknown_macros(name: str, found: Sequence[MacroCall]) -> Iterator[Problem]:
    for call in found:
        if call.name not in MACROS and call.name != "caller":
            yield Problem(name, call.line, unknown("macro", call.name, MACROS))


def _names(source: PageSource, found: Sequence[MacroCall]) -> Iterator[Problem]:
    question = source.question
    known: dict[str, Iterable[str]] = {
        "fact": question.facts,
        "chart": question.charts,
        "table": question.tables,
        "calc": question.calcs,
        "worked": question.calcs,
        "contrast": question.contrasts,
    }
    for call in found:
        for argument in call.arguments if call.name in known else ():
            if argument not in [*known[call.name]] and "." not in argument:
                yield Problem(source.name, call.line, unknown(call.name, argument, known[call.name]))


def _required(source: PageSource, found: Sequence[MacroCall]) -> Iterator[Problem]:
    called = {call.name for call in found}
    for name in REQUIRED:
        if name not in called:
            yield Problem(source.name, source.body_line, f"the page does not call {{{{ {name}() }}}}")
    if not (source.question.facts or source.question.calcs or "quoted" in called):
        yield Problem(source.name, source.body_line, "the page has no number: give a fact, a calc or quoted")
    if "contrast" not in called:
        yield Problem(source.name, source.body_line, "the page shows no contrast: {{ contrast() }} shows all")
    if not called & {"chart", "table"} and "\n|" not in source.body:
        yield Problem(source.name, source.body_line, "the page has neither a chart nor a table")


def moved_pages(
    ws: Workspace, docs: Path, only: Path | None = None, data: SiteData | None = None
) -> list[str]:
    """Pages that wait for their author, because the data left the verdict they were written for."""
    data = data or load(ws)
    chosen = set(_chosen(docs, only)) & set(question_files(docs))
    pages = [QuestionPage(read_page(path, docs.parent), data) for path in sorted(chosen)]
    return [
        f"{page.source.name}: {standing.id} was written for {was}, the data say {standing.verdict}"
        for page in pages
        for standing, was in left_verdict(page)
    ]


def _between(docs: Path) -> Iterator[Problem]:
    """What is wrong between pages: two with one number, and addresses that lead nowhere any more."""
    first: dict[int, str] = {}
    sources = list(readable_pages(docs))
    for source in sources:
        number = source.question.number
        if number in first:
            yield Problem(
                source.name, source.line_of("number"), f"{first[number]} has number {number} as well"
            )
        first.setdefault(number, source.name)
    unread = len(question_files(docs)) - len(sources)
    yield from check_addresses(docs.parent, sources) if not unread else ()


def numbers_taken(docs: Path) -> list[int]:
    """Numbers of the pages that there are."""
    return [source.question.number for source in readable_pages(docs)]


def left_words(docs: Path, only: Path | None = None) -> list[str]:
    """Lines that still hold the words of a skeleton."""
    return [
        f"{shown(path, docs.parent)}:{line}: still the skeleton's words"
        for path in _chosen(docs, only)
        if path.suffix == ".toml" or path in question_files(docs)
        for line in left_to_replace(path.read_text(encoding="utf-8"))
    ]


def check_claim(ws: Workspace, path: Path) -> list[Problem]:
    """What is wrong with one claim file: fields, authority, queries."""
    name = shown(path.resolve(), ws.root)
    try:
        claim = load_claim(path)
        weigh(ws, claims=[claim])
    except WeighbridgeError as error:
        return [Problem(name, 1, error.what)]
    return []
