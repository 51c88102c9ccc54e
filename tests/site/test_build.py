"""The real pages on made-up data: they build whole, and a failed build keeps the last good site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pipeline.errors import CheckFailed
from pipeline.paths import REPOSITORY, Workspace
from pipeline.site.build import build_site, swap
from pipeline.site.frontmatter import question_files
from pipeline.site.source import source_of
from tests.fixtures.site import BODY, FRONT, made_up_workspace, text_of, write_pages

SLUGS = tuple(path.stem for path in question_files(REPOSITORY / "docs"))
ANATOMY = (
    "Ask first.",
    "Say this in 30 seconds",
    "Say this in 2 minutes",
    "Whiteboard",
    "Where this advice loses",
    "✕ BAD",
    "✓ GOOD",
    "△ Widely taught, wrong",
    "What would flip this",
    "They will ask next",
    "Evidence",
    "Related:",
)


@pytest.fixture(scope="module")
def site(ws: Workspace) -> Path:
    return build_site(ws, REPOSITORY).site


def page(site: Path, slug: str) -> str:
    return (site / "questions" / slug / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("slug", SLUGS)
def test_page_has_the_whole_anatomy_in_order(site: Path, slug: str) -> None:
    text = text_of(page(site, slug).split("<article", 1)[1])
    places = [text.find(part) for part in ANATOMY]
    assert -1 not in places, dict(zip(ANATOMY, places, strict=True))
    assert places == sorted(places)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_number_of_a_page_leads_to_a_row_or_line_that_exists(site: Path, slug: str) -> None:
    html = page(site, slug)
    for target in set(re.findall(r'<a class="wb-(?:fact|calc)[^"]*" href="#([\w-]+)"', html)):
        assert f'id="{target}"' in html, target


@pytest.mark.parametrize("slug", SLUGS)
def test_numbers_of_a_page_are_those_of_the_data(site: Path, ws: Workspace, slug: str) -> None:
    from pipeline.analysis.views import query

    html = page(site, slug)
    for row in re.findall(r'<tr id="ev-[\w-]+">.*?</tr>', html, re.DOTALL):
        told = re.search(r"<code>weighbridge query &quot;(.*?)&quot;</code>", row)
        shown = re.search(r'wb-value">([^<]*)<', row)
        assert told is not None
        assert shown is not None
        sql = told[1].replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")
        if "FROM exchange" in sql or "FROM noise" in sql:
            continue
        found = query(ws, sql)["value"].dropna()
        digits = re.sub(r"[^\d.]", "", shown[1])
        if digits and len(found):
            median = float(found.median()) * (100 if "%" in shown[1] else 1)
            assert float(digits) == pytest.approx(median, rel=0.006), row


def test_home_and_index_list_finished_and_waiting_questions(site: Path) -> None:
    home = text_of((site / "index.html").read_text())
    index = text_of((site / "questions" / "index.html").read_text())
    index = text_of((site / "questions" / "index.html").read_text())
    assert "What does vLLM really do when KV memory runs out?" in index
    assert 3 <= (site / "index.html").read_text().count('class="wb-row"') <= 5
    assert index.count("not yet measured") == 29 - len(SLUGS)
    assert len(re.findall(r'class="wb-row', (site / "questions" / "index.html").read_text())) == 29


def test_ledger_has_all_claims(site: Path) -> None:
    html = (site / "claims" / "index.html").read_text()
    ids = re.findall(r'<article class="wb-claim" id="([MR]\d\d)"', html)
    assert len(ids) == 44
    assert len(set(ids)) == 44


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        loaded = re.findall(
            r'(?:src|href|url)[=(]["\']?(https?://[^"\')\s]+)', path.read_text(encoding="utf-8")
        )
        foreign = [url for url in loaded if "squidfunk.github.io" not in url]
        assert foreign == [], path


def test_downloads_are_linked_and_there(site: Path) -> None:
    html = (site / "data" / "index.html").read_text()
    links = re.findall(r'href="\.\./(downloads/[^"]+)"', html)
    assert "downloads/observations.csv" in links
    assert all((site / link).stat().st_size > 0 for link in links)


def test_failed_build_keeps_the_last_good_site(tmp_path: Path) -> None:
    ws = made_up_workspace(tmp_path)
    write_pages(tmp_path, {"questions/memory.md": FRONT + BODY})
    assert build_site(ws).pages >= 2
    before = (ws.site / "index.html").read_bytes()
    broken = tmp_path / "docs" / "questions" / "memory.md"
    broken.write_text(FRONT + BODY + "{{ fact('nothing') }}", encoding="utf-8")
    with pytest.raises(CheckFailed, match=r"memory\.md:\d+: unknown fact 'nothing'.*known: pool, preempted"):
        build_site(ws)
    assert (ws.site / "index.html").read_bytes() == before
    assert [path.name for path in ws.local.iterdir() if path.name.startswith("site-")] == []


def test_broken_link_fails_the_build_with_its_page(tmp_path: Path) -> None:
    ws = made_up_workspace(tmp_path)
    write_pages(tmp_path, {"about.md": "[gone](nowhere.md)\n"})
    with pytest.raises(CheckFailed, match=r"about\.md.*nowhere\.md"):
        build_site(ws)
    assert not ws.site.exists()


def test_unknown_name_in_a_template_fails_the_build(tmp_path: Path) -> None:
    ws = made_up_workspace(tmp_path)
    write_pages(tmp_path, {"about.md": "{{ undefined_name }}\n"})
    with pytest.raises(CheckFailed, match="undefined_name"):
        build_site(ws)


def test_swap_puts_the_new_site_in_place_of_the_old(tmp_path: Path) -> None:
    for name, text in (("fresh/site", "new"), ("site", "old")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "index.html").write_text(text)
    swap(tmp_path / "fresh" / "site", tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text() == "new"
    assert list((tmp_path / "fresh").iterdir()) == []


def test_pages_come_from_the_workspace_or_from_this_checkout(tmp_path: Path) -> None:
    assert source_of(Workspace(tmp_path)) == REPOSITORY
    shutil.copy(REPOSITORY / "mkdocs.yml", tmp_path)
    assert source_of(Workspace(tmp_path)) == tmp_path
