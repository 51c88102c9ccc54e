"""The navigation: question pages find their place by topic, so a new page is one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.site.frontmatter import PageSource
from pipeline.site.index import SECTIONS, section_of

QUESTIONS = "questions/index.md"


def expanded(nav: Sequence[Any], pages: Sequence[PageSource]) -> list[Any]:
    """The navigation of mkdocs.yml with the entry of the question index grown into sections."""
    return [_grown(entry, pages) if _is_index(entry) else entry for entry in nav or []]


def _is_index(entry: Any) -> bool:
    return isinstance(entry, dict) and QUESTIONS in entry.values()


def _grown(entry: dict[str, Any], pages: Sequence[PageSource]) -> dict[str, Any]:
    (title,) = entry
    sections = [{name: files} for name in SECTIONS if (files := _files(name, pages))]
    return {title: [QUESTIONS, *sections]}


def _files(section: str, pages: Sequence[PageSource]) -> list[dict[str, str]]:
    mine = [page for page in pages if section_of(page.question.topic) == section]
    ordered = sorted(mine, key=lambda page: page.question.number)
    return [{page.question.title: f"questions/{page.path.name}"} for page in ordered]
