"""The macros as pure functions: a page and its data in, text out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from pipeline.errors import InputError
from pipeline.schemas.sheet import Sheet
from pipeline.site import blocks, derivedhtml, index, ledgerhtml, reference, runshtml, turninghtml, verdicthtml
from pipeline.site.charts.figure import empty_figure, figure
from pipeline.site.charts.kept import kept_drawings
from pipeline.site.data import SiteData
from pipeline.site.facthtml import evidence_table, fact_link
from pipeline.site.html import one_block
from pipeline.site.page import QuestionPage
from pipeline.site.practice import deck, interview, numbers, picture, quiz, rubric, spoken
from pipeline.site.problems import unknown
from pipeline.site.tablehtml import table_html
from pipeline.site.whiteboard import inline_html, line_html

LEDGER, QUESTIONS, CHARTS, DECK = "claims/", "questions/", "assets/charts/", "assets/deck/"


@dataclass
class Site:
    """What all pages share while one site is built.

    Args:
        data: what the store and the verdict engine give.
        pages: question pages by their path below the docs folder.
        cache: folder for drawn pictures.
        package: the package that the architecture page lists.
        exports: files that can be downloaded, with their sizes.
        specifications: Vega-Lite documents to be written beside the pages, by address.
        sheets: practice pages by their path below the docs folder.
    """

    data: SiteData
    pages: Mapping[str, QuestionPage]
    cache: Path
    package: Path
    exports: list[tuple[str, int]] = field(default_factory=list)
    specifications: dict[str, str] = field(default_factory=dict)
    sheets: Mapping[str, QuestionPage] = field(default_factory=dict)

    @property
    def ordered(self) -> list[QuestionPage]:
        """Question pages in the order of their numbers."""
        return sorted(self.pages.values(), key=lambda page: page.question.number)

    @property
    def by_slug(self) -> dict[str, QuestionPage]:
        """Question pages by the last part of their address."""
        return {page.source.slug: page for page in self.pages.values()}

    def notes(self) -> list[deck.Note]:
        """The flash-card deck."""
        known = [
            numbers.known(name, sheet, self.by_slug, "")
            for sheet in self.sheets.values()
            for name in numbers.listed(sheet)
        ]
        return deck.notes(self.ordered, known)


@dataclass(frozen=True)
class Voice:
    """The macros of one page.

    Args:
        site: what all pages share.
        path: the page's path below the docs folder.
        root: address of the site's top from the page, such as `../../`.
    """

    site: Site
    path: str
    root: str

    @property
    def page(self) -> QuestionPage:
        """The question page this is.

        Raises:
            InputError: the macro belongs on question pages.
        """
        page = self.site.pages.get(self.path) or self.site.sheets.get(self.path)
        if page is None:
            raise InputError("this macro works on question pages only", where=self.path)
        return page

    def verdict(self) -> str:
        """Banner, verdict line, badges."""
        return verdicthtml.verdict_head(self.page, self.root + LEDGER)

    def fact(self, name: str) -> str:
        """A measured number: `name`, or `slug.name` for a fact of another page."""
        slug, _, own = name.rpartition(".")
        if not slug:
            say = numbers.said if self.path in self.site.sheets else fact_link
            return say(self.page.fact(name))
        known = {page.source.slug: page for page in self.site.pages.values()}
        if slug not in known:
            raise InputError(unknown("page", slug, known), where=self.path)
        return numbers.said(known[slug].fact(own), f"{self.root}{QUESTIONS}{slug}/")

    def calc(self, name: str) -> str:
        """A line of the whiteboard."""
        page = self.page
        line, spec = page.line(name), page.question.calcs[name]
        against = page.quantity(spec.against) if spec.against else None
        return line_html(name, line, against, blocks.inline(page.fill(spec.note)))

    def worked(self, name: str) -> str:
        """The result of a line of the whiteboard, in prose."""
        return inline_html(name, self.page.line(name))

    def chart(self, name: str) -> str:
        """A chart with its data folded behind it; its specification is kept for `assets/charts/`."""
        page, points = self.page, self.page.points(name)
        spec = page.question.charts[name]
        texts = (page.fill(spec.title), page.fill(spec.caption), page.plain(spec.title))
        if not points.repeats:
            return empty_figure(name, texts)
        address = f"{CHARTS}{page.source.slug}-{name.replace('_', '-')}"
        pictures = {}
        for layout, (drawn, svg) in kept_drawings(spec, points, texts[2], self.site.cache).items():
            pictures[layout] = svg
            self.site.specifications[f"{address}-{layout}.json"] = json.dumps(drawn)
        return figure(name, spec, points, texts, pictures, self.root + address)

    def table(self, name: str) -> str:
        """A table of the page with its origin folded below it."""
        page, rows = self.page, self.page.table(name)
        spec = page.question.tables[name]
        return table_html(name, spec, rows, page.fill(spec.title), page.fill(spec.caption))

    def contrast(self, *names: str) -> str:
        """Wrong answers, each beside the one to give instead; all of the page where none is named."""
        page, known = self.page, self.page.question.contrasts
        for name in names:
            if name not in known:
                raise InputError(unknown("contrast", name, known), where=page.source.name)
        return "".join(blocks.contrast(name, known[name], page.fill) for name in names or known)

    def evidence(self) -> str:
        """The table of facts."""
        local = self.site.data.local
        return evidence_table(self.page.facts, local.run_id if local else None)

    def thresholds(self) -> str:
        """What would flip the verdicts of the page."""
        return turninghtml.thresholds(verdicthtml.standings_of(self.page), self.root + LEDGER)

    def related_pages(self) -> str:
        """Links to related pages; those without a page yet are left out."""
        known = {page.source.slug: page.question.title for page in self.site.pages.values()}
        links = [
            f'<a href="../{slug}/">{escape(known[slug])}</a>'
            for slug in self.page.question.related
            if slug in known
        ]
        return f'<p class="wb-related">Related: {" · ".join(links)}</p>' if links else ""

    def ledger(self) -> str:
        """The claim ledger."""
        return ledgerhtml.ledger(list(self.site.data.claims.values()), self._answered(), self.site.data.changes)

    def question_index(self) -> str:
        """All questions, finished and waiting."""
        return index.question_index(list(self.site.pages.values()), self.site.data)

    def headlines(self) -> str:
        """Today's headline verdicts for the home page."""
        shown = index.headline_pages(list(self.site.pages.values()), self.site.data)
        rows = [
            index.headline(page, f"{self.root}{QUESTIONS}{page.source.slug}/", self.root + LEDGER)
            for page in shown
        ]
        return one_block(f'<div class="wb-list">{"".join(rows)}</div>')

    def pulse(self) -> str:
        """Counts of verdicts, what changed this week, freshness of each lane, pages that wait: one line."""
        data = self.site.data
        counted = f"<span>{ledgerhtml.counts(data.claims.values())}</span>"
        changed = f"<span>{ledgerhtml.changed_words(data)}</span>"
        waiting = verdicthtml.moved_row(list(self.site.pages.values()), self.root + QUESTIONS)
        lanes = runshtml.freshness_row(data)
        return one_block(f'<div class="wb-fresh">{counted}{changed}{lanes}{waiting}</div>')

    def runs(self, place: str = "promoted") -> str:
        """Finished runs at one place: promoted, local or quarantined."""
        return runshtml.runs_table(self.site.data.kept, (place,))

    def freshness(self) -> str:
        """Each lane with age and limit."""
        return runshtml.freshness_table(self.site.data)

    def corrections(self) -> str:
        """Runs that were removed."""
        return runshtml.corrections_table(self.site.data.corrections)

    def history(self) -> str:
        """Verdicts that changed, with cause."""
        return ledgerhtml.history(self.site.data.changes)

    def moved(self) -> str:
        """Pages whose prose was written for another verdict."""
        return verdicthtml.moved_list(list(self.site.pages.values()), self.root + QUESTIONS)

    def formulas(self) -> str:
        """The glossary's formulas."""
        return reference.formula_list()

    def arithmetic_list(self) -> str:
        """The derived lane's formulas."""
        return derivedhtml.arithmetic_list()

    def log_check(self) -> str:
        """Public logs that the derived lane is held against."""
        return derivedhtml.log_check(self.site.data.rows)

    def dictionary(self) -> str:
        """Views with columns, types and meanings."""
        return reference.dictionary(self.site.data.columns)

    def downloads(self) -> str:
        """Exported files."""
        return reference.downloads(self.site.exports, self.root)

    def tree(self) -> str:
        """The package as a tree."""
        return reference.package_tree(self.site.package)

    def interview(self) -> str:
        """The mock interview over all questions."""
        questions = self.root + QUESTIONS
        cards = [(page, spoken.spoken(page, self.site.by_slug, questions)) for page in self.site.ordered]
        return interview.interview(cards, self.site.data.claims, questions, self.root + LEDGER)

    def quiz(self) -> str:
        """BAD or GOOD, over every contrast."""
        return quiz.quiz(self.site.ordered, self.root + QUESTIONS)

    def numbers(self, *names: str) -> str:
        """A table of numbers to know: facts and lines of this page, or `slug.name`."""
        return numbers.numbers(names, self.page, self.site.by_slug, self.root + QUESTIONS)

    def picture(self, name: str) -> str:
        """A design as boxes and arrows."""
        question = self.page.question
        known = question.pictures if isinstance(question, Sheet) else {}
        if name not in known:
            raise InputError(unknown("picture", name, known), where=self.page.source.name)
        return picture.picture(name, known[name], self.page.plain)

    def deck(self) -> str:
        """Links to the flash-card deck, with its date and how many cards it has."""
        return deck.links(self.site.notes(), self.site.data.today, self.root + DECK)

    def rubrics(self) -> str:
        """Both reported rubrics with their weights."""
        return rubric.table_of_rubrics(self.site.data.claims, self.root + LEDGER)

    def _answered(self) -> dict[str, list[tuple[str, str]]]:
        """Claim id to title and address of the pages that answer it."""
        found: dict[str, list[tuple[str, str]]] = {}
        for page in self.site.pages.values():
            for claim in page.question.written_for:
                address = f"{self.root}{QUESTIONS}{page.source.slug}/"
                found.setdefault(claim, []).append((page.question.title, address))
        return found
