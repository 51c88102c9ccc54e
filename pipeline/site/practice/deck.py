"""The flash-card deck: Anki's text format and CSV, from the same pages, with the date of their data.

Format: https://docs.ankiweb.net/importing/text-files.html, headers `#key:value`, fields separated by tabs. The
first column is a stable guid, so that importing a newer deck updates its notes and keeps what was learned.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path

from pipeline.site.blocks import SIGNS
from pipeline.site.html import day, one_block
from pipeline.site.page import QuestionPage
from pipeline.site.practice.numbers import Known, lanes, newest
from pipeline.site.practice.quiz import items
from pipeline.site.practice.spoken import spoken, unlinked

ANKI, CSV = "weighbridge-deck.txt", "weighbridge-deck.csv"
NAME = "Weighbridge"
COLUMNS = ("GUID", "Front", "Back", "Tags")
WRONG = ("bad", "taught")


@dataclass(frozen=True)
class Note:
    """One card.

    Args:
        guid: stable name; a later deck updates the card of the same name.
        front: what is asked, HTML.
        back: what to know, HTML.
        tags: words without spaces.
        lanes: evidence lanes behind it.
        on: day of the newest number on it, None where there is none.
    """

    guid: str
    front: str
    back: str
    tags: tuple[str, ...]
    lanes: tuple[str, ...]
    on: date | None


def notes(pages: Sequence[QuestionPage], known: Iterable[Known]) -> list[Note]:
    """All cards: a question each, a card for each contrast, and the numbers to know."""
    by_slug = {page.source.slug: page for page in pages}
    made = [_question(page, by_slug) for page in pages]
    return [*made, *(note for page in pages for note in _contrasts(page)), *map(_number, known)]


def _question(page: QuestionPage, pages: Mapping[str, QuestionPage]) -> Note:
    said = spoken(page, pages, "").answers.get("30 seconds", "")
    back = f"<p><b>{page.fill(page.question.answer)}</b></p>{said}"
    tags = ("question", page.question.topic, page.question.level)
    return Note(
        f"wb:{page.source.slug}",
        escape(page.question.title),
        unlinked(back),
        tags,
        tuple(lanes(page)),
        newest(page),
    )


def _contrasts(page: QuestionPage) -> Iterator[Note]:
    for item in items([page], ""):
        if item.label not in WRONG:
            continue
        rows = "".join(f"<p><b>{head}</b> {text}</p>" for head, text in item.notes)
        back = f"<p><b>{SIGNS[item.label][1]}</b></p>{rows}"
        front = f"<p>{escape(item.asked)}</p><p>“{item.says}”</p><p>BAD, GOOD, or widely taught and wrong?</p>"
        tags = ("contrast", page.question.topic, item.label)
        yield Note(
            f"wb:{item.key}", unlinked(front), unlinked(back), tags, tuple(lanes(page)), newest(page)
        )


def _number(each: Known) -> Note:
    return Note(
        f"wb:number:{each.name}", escape(each.label), each.text, ("number",), (each.lane,), each.on
    )


def anki_text(deck: Sequence[Note], built: date) -> str:
    """The deck as Anki reads it: File > Import."""
    heads = [
        "#separator:tab",
        "#html:true",
        "#notetype:Basic",
        f"#deck:{NAME}",
        f"#tags:weighbridge built-{built.isoformat()}",
        f"#columns:{chr(9).join(COLUMNS)}",
        "#guid column:1",
        "#tags column:4",
    ]
    rows = ((note.guid, note.front, _dated(note), " ".join(note.tags)) for note in deck)
    lines = ("\t".join(" ".join(field.split()) for field in row) for row in rows)
    return "\n".join([*heads, *lines]) + "\n"


def csv_text(deck: Sequence[Note], built: date) -> str:
    """The deck as a table, with lanes and dates in columns of their own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["guid", "front", "back", "tags", "lanes", "measured_on", "built_on"])
    for note in deck:
        row = [note.guid, note.front, note.back, " ".join(note.tags), " ".join(note.lanes)]
        writer.writerow([*row, note.on.isoformat() if note.on else "", built.isoformat()])
    return out.getvalue()


def links(deck: Sequence[Note], built: date, address: str) -> str:
    """Both files to download, with how many cards they hold and of which day.

    Args:
        deck: all cards.
        built: day of the build.
        address: of the folder they are in.
    """
    files = " · ".join(
        f'<a href="{address}{file}" download>{words}</a>' for file, words in ((ANKI, "for Anki"), (CSV, "CSV"))
    )
    return one_block(f'<p class="wb-deck">{len(deck)} cards, built {day(built)}: {files}</p>')


def write_deck(folder: Path, deck: Sequence[Note], built: date) -> None:
    """Write both files into a folder of the site."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ANKI).write_text(anki_text(deck, built), encoding="utf-8")
    (folder / CSV).write_text(csv_text(deck, built), encoding="utf-8")


def _dated(note: Note) -> str:
    basis = f"{', '.join(note.lanes)}, {day(note.on)}" if note.on else ", ".join(note.lanes)
    return f"{note.back}<p><small>{basis}</small></p>" if basis else note.back
