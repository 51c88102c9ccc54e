"""Practice as pure functions: what is said aloud, told apart, counted, drawn and put on cards."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from pathlib import Path

import pytest
import yaml

from pipeline.schemas.sheet import Picture, Sheet
from pipeline.site.data import SiteData
from pipeline.site.frontmatter import Unreadable, read_page
from pipeline.site.page import QuestionPage
from pipeline.site.practice import deck, rubric
from pipeline.site.practice.picture import picture
from pipeline.site.practice.quiz import items, quiz
from pipeline.site.practice.spoken import spoken, unlinked
from tests.fixtures.site import BODY, FRONT, text_of
from tests.site.conftest import TODAY

SPOKEN = (
    '{% call ask_first() %}\nWhich load?\n{% endcall %}\n\n{% call say("30 seconds") %}\n'
    "It preempted {{ fact('preempted') }} times, **not** {{ given('99') }}; see [the rest](other.md).\n{% endcall %}\n"
)
SHARP = FRONT.replace("The engine pages it out.", 'A <script>alert(1)</script> & "quoted" thing.')


def made(tmp_path: Path, data: SiteData, text: str, name: str = "memory") -> QuestionPage:
    path = tmp_path / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return QuestionPage(read_page(path, tmp_path), data)


def test_words_of_a_page_are_heard_elsewhere_with_links_to_its_evidence(
    tmp_path: Path, data: SiteData
) -> None:
    page = made(tmp_path, data, FRONT + SPOKEN + BODY)
    said = spoken(page, {"memory": page}, "../../questions/")
    answer = said.answers["30 seconds"]
    assert 'href="../../questions/memory/#ev-preempted"' in answer
    assert 'href="../../questions/other/"' in answer
    assert "<strong>not</strong>" in answer
    assert text_of(said.ask_first) == "Which load?"
    assert "<a" not in unlinked(answer)
    assert "It preempted 67 times" in text_of(unlinked(answer))


def test_quiz_has_both_sides_of_a_contrast_and_runs_nobody_elses_html(tmp_path: Path, data: SiteData) -> None:
    page = made(tmp_path, data, SHARP + BODY)
    sides = items([page], "q/")
    assert [(side.key, side.label) for side in sides] == [
        ("memory.paging.said", "bad"),
        ("memory.paging.good", "good"),
    ]
    html = quiz([page], "q/")
    assert "<script" not in html
    assert 'A <script>alert(1)</script> & "quoted" thing.' in text_of(html)


def test_deck_is_what_anki_imports(tmp_path: Path, data: SiteData) -> None:
    """Format of https://docs.ankiweb.net/importing/text-files.html: headers, then one card a line."""
    page = made(tmp_path, data, SHARP + SPOKEN + BODY)
    cards = deck.notes([page], [])
    lines = deck.anki_text(cards, TODAY).splitlines()
    heads = dict(line[1:].split(":", 1) for line in lines if line.startswith("#"))
    assert heads["separator"] == "tab"
    assert heads["html"] == "true"
    assert heads["columns"].split("\t") == ["GUID", "Front", "Back", "Tags"]
    assert (heads["guid column"], heads["tags column"]) == ("1", "4")
    assert f"built-{TODAY.isoformat()}" in heads["tags"].split()
    rows = [line.split("\t") for line in lines[len(heads) :]]
    assert [row[0] for row in rows] == ["wb:memory", "wb:memory.paging.said"]
    for _, front, back, tags in rows:
        assert not front.startswith('"')
        assert not back.startswith('"')
        assert "<script" not in front + back
        assert "<a " not in front + back
        assert tags
    assert "67" in rows[0][2]
    assert "cpu, 30 Nov 2026" in rows[0][2]


def test_deck_as_csv_has_lane_and_dates_of_each_card(tmp_path: Path, data: SiteData) -> None:
    page = made(tmp_path, data, SHARP + SPOKEN + BODY)
    text = deck.csv_text(deck.notes([page], []), date(2026, 12, 2))
    first = next(csv.DictReader(io.StringIO(text)))
    assert first["front"] == "What happens when memory runs out?"
    assert (first["lanes"], first["measured_on"], first["built_on"]) == ("cpu", "2026-11-30", "2026-12-02")


def test_weights_are_read_from_the_claim_that_reports_them(data: SiteData) -> None:
    assert rubric.weightings(data.claims) == [(3, 1), (4, 2)]
    assert rubric.weightings({}) == []


PLAN = """
title: A plan with boxes.
boxes:
  a: {title: Here & there, lines: ["<b>bold</b>"], column: 1, row: 1}
  b: {title: Beyond, column: 2, row: 1}
  c: {title: Below, column: 1, row: 2}
arrows: [{source: a, target: b, label: bytes}, {source: a, target: c}]
"""


def test_picture_is_drawn_twice_escaped_and_told_in_words() -> None:
    html = picture("plan", Picture.model_validate(yaml.safe_load(PLAN)), lambda text: text)
    assert html.count("<svg") == 2
    assert "<b>bold" not in html
    assert "&lt;b&gt;bold" in html
    assert "Here & there to Beyond: bytes" in text_of(html)
    wide = html.split("<svg")[1]
    lines = re.findall(r'<line class="wb-p-arrow" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', wide)
    (x1, y1, x2, y2), (down_x1, down_y1, down_x2, down_y2) = [tuple(map(float, line)) for line in lines]
    assert x2 > x1
    assert y1 == y2
    assert down_x1 == down_x2
    assert down_y2 > down_y1


def test_arrow_to_nowhere_is_a_mistake_of_its_page(tmp_path: Path) -> None:
    plan = PLAN.replace("target: c", "target: d").replace("\n", "\n    ")
    path = tmp_path / "plan.md"
    path.write_text(f"---\ntitle: Plan\npictures:\n  plan:\n    {plan.strip()}\n---\n", encoding="utf-8")
    with pytest.raises(Unreadable, match="arrows to or from boxes that are not there: d"):
        read_page(path, tmp_path, Sheet)
