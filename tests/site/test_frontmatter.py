"""A mistake in a page's front matter is named with file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.site.frontmatter import Unreadable, read_page
from tests.fixtures.site import BODY, FRONT


def read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "docs" / "page.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    read_page(path, tmp_path)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("topic: memory", "topic: memories", "field topic: unknown word 'memories'; did you mean 'memory'?"),
        ("  pool: {label: KV pool, lane: cpu", "  pool: {label: KV pool, lane: tpu", "field facts.pool.lane"),
        ("    kind: line", "    kind: pie", "field charts.pressure.kind: unknown word 'pie'"),
        ("    label: bad", "    label: bad\n    colour: red", "field contrasts.paging.colour: there is no such field"),
        ("{M05: fails}", "{M05: wrong}", "field written_for.M05"),
    ],
)
def test_wrong_field_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = FRONT.replace(old, new) + BODY
    with pytest.raises(Unreadable) as caught:
        read(tmp_path, text)
    problem = caught.value.problems[0]
    assert problem.file == "docs/page.md"
    assert message in problem.message
    assert problem.line in {line_of(text, new), line_of(text, new) + 1}


def test_missing_field_points_to_where_it_belongs(tmp_path: Path) -> None:
    text = FRONT.replace("    says: The engine pages it out.\n", "") + BODY
    with pytest.raises(Unreadable, match=r"contrasts\.paging\.says: this field is missing") as caught:
        read(tmp_path, text)
    assert caught.value.problems[0].line == line_of(text, "  paging:")


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        read(tmp_path, FRONT.replace("level: mid", "level: low").replace("number: 2", "number: two") + BODY)
    assert len(caught.value.problems) == 2


def test_bad_yaml_has_its_line(tmp_path: Path) -> None:
    text = FRONT.replace("level: mid", "level: [mid") + BODY
    with pytest.raises(Unreadable, match="not YAML") as caught:
        read(tmp_path, text)
    assert abs(caught.value.problems[0].line - line_of(text, "level: [mid")) <= 1


def test_name_written_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="'level' is written twice"):
        read(tmp_path, FRONT.replace("level: mid", "level: mid\nlevel: senior") + BODY)


@pytest.mark.parametrize("text", ["# No front matter\n", "", "---\ntitle: never closed\n"])
def test_page_without_front_matter_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Unreadable, match="starts with front matter"):
        read(tmp_path, text)


def test_a_page_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "page.md"
    path.parent.mkdir()
    path.write_bytes(b"---\nnumber: 2\ntitle: caf\xe9\n---\n")
    with pytest.raises(Unreadable, match="not UTF-8") as caught:
        read_page(path, tmp_path)
    assert caught.value.problems[0].line == 3
