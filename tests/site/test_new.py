"""A new page and a new claim: skeletons that pass every check, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.analysis.claims import load_claim
from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.site.build import build_page
from pipeline.site.data import SiteData
from pipeline.site.index import Waiting, waiting_questions
from pipeline.site.lint import check_claim, check_docs, left_words
from pipeline.site.skeleton import address_of, chosen, claim_text, question_text, write_new
from tests.fixtures.site import BODY, FRONT, made_up_workspace, text_of, write_pages
from tests.site.conftest import Mini

TITLE = "When does a longer context slow everyone?"


def skeleton(data: SiteData, title: str = TITLE, claims: tuple[str, ...] = ()) -> str:
    new = chosen(title, None, "senior", claims, waiting_questions(), data.claims, [2])
    return question_text(new, data.claims)


@pytest.mark.usefixtures("known_data")
def test_the_skeleton_passes_every_check_and_says_what_to_replace(
    ws: Workspace, tmp_path: Path, data: SiteData
) -> None:
    docs = write_pages(tmp_path, {"questions/longer.md": skeleton(data)})
    page = docs / "questions" / "longer.md"
    assert check_docs(ws, docs) == []
    assert f"docs/questions/longer.md:{line_of(page, 'answer: ')}: still the skeleton's words" in left_words(docs)


def line_of(page: Path, start: str) -> int:
    return next(n for n, line in enumerate(page.read_text().splitlines(), 1) if line.startswith(start))


def test_the_skeleton_builds_with_its_four_parts(mini: Mini, data: SiteData) -> None:
    html = mini({"questions/longer.md": skeleton(data, claims=("M05",))}, "questions/longer/index.html")
    text = text_of(html)
    for part in ("M05 ✕ fails", "the smallest pool preempted", "✕ BAD", "✓ GOOD", "reproduce"):
        assert part in text
    assert '<figure class="wb-chart"' in html


def test_one_page_is_built_alone(tmp_path: Path) -> None:
    ws = made_up_workspace(tmp_path)
    docs = write_pages(tmp_path, {"questions/memory.md": FRONT + BODY, "questions/broken.md": "no page"})
    ws.local.mkdir()
    built = build_page(ws, docs / "questions" / "memory.md")
    html = (built.site / "questions" / "memory" / "index.html").read_text()
    assert "It preempts: 67 times." in text_of(html)
    assert not (built.site / "questions" / "broken").exists()
    with pytest.raises(InputError, match="no question page"):
        build_page(ws, docs / "index.md")


def test_a_listed_question_brings_its_number_topic_and_claims(data: SiteData) -> None:
    listed = Waiting(number=31, title="Is a queue a bug?", topic="latency", claims=("M05",))
    new = chosen(listed.title, None, "mid", (), [listed], data.claims, [])
    assert (new.number, new.topic, new.claims) == (listed.number, listed.topic, listed.claims)


def test_no_question_waits_once_all_have_their_page(tmp_path: Path) -> None:
    empty = tmp_path / "waiting.toml"
    empty.write_text("# all are written")
    assert waiting_questions(empty) == []


def test_the_address_is_made_of_the_words_that_carry_the_title() -> None:
    assert address_of("Can a 70B model live in 24 GB?") == "can-70b-model-live-24-gb"
    for title in ("?", "What <b>is</b> it worth?"):
        with pytest.raises(InputError, match="no question"):
            address_of(title)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        write_new(page, "new")
    assert page.read_text() == "mine"


def test_a_new_claim_is_valid_and_not_measured(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "M26.toml"
    write_new(path, claim_text("M26", "latency"))
    claim = load_claim(path)
    assert (claim.id, claim.topic, claim.evidence) == ("M26", "latency", ())
    assert check_claim(ws, path) == []
    with pytest.raises(InputError, match="no name of a claim"):
        claim_text("X1", "memory")


def test_a_claim_is_checked_alone_with_its_query(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "M26.toml"
    text = claim_text("M26", "memory")
    block = text[text.index("# [[evidence]]") :].replace("\n# ", "\n").removeprefix("# ")
    path.write_text(text[: text.index("# Until")] + 'dimension = "pool"\n' + block.replace("preemptions AS", "premptions AS"))
    (problem,) = check_claim(ws, path)
    assert "M26" in problem.message
    assert "premptions" in problem.message
