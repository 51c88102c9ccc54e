"""What `weighbridge check` finds, each with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import CheckFailed, InputError
from pipeline.paths import Workspace
from pipeline.site.data import SiteData
from pipeline.site.lint import check_docs, moved_pages
from pipeline.site.problems import Problem, fail
from pipeline.site.prose import typed_numbers
from tests.fixtures.site import BODY, FRONT, write_pages

pytestmark = pytest.mark.usefixtures("known_data")


def problems(ws: Workspace, root: Path, page: str) -> list[Problem]:
    return check_docs(ws, write_pages(root, {"questions/memory.md": page}))


def only(found: list[Problem]) -> Problem:
    assert len(found) == 1, found
    return found[0]


def test_sound_page_passes(ws: Workspace, tmp_path: Path) -> None:
    assert problems(ws, tmp_path, FRONT + BODY) == []


def test_unknown_fact_gives_file_line_name_and_known_names(ws: Workspace, tmp_path: Path) -> None:
    page = FRONT + BODY + "\nIt preempted {{ fact('premepted') }} times.\n"
    problem = only(problems(ws, tmp_path, page))
    assert (problem.file, problem.line) == ("docs/questions/memory.md", page.count("\n"))
    assert "unknown fact 'premepted'; did you mean 'preempted'?" in problem.message
    assert "(known: pool, preempted, unmeasured)" in problem.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{{ chart('pressure') }}",
            "{{ chart('presure') }}",
            "unknown chart 'presure'; did you mean 'pressure'?",
        ),
        ("{{ contrast() }}", "{{ contrast('x') }}", "unknown contrast 'x'"),
        ("{{ contrast() }}", "{{ contrasts() }}", "unknown macro 'contrasts'; did you mean 'contrast'?"),
        ("{{ verdict() }}", "{{ verdict( }}", "the page's macros cannot be read"),
        ("{{ evidence() }}", "", "does not call {{ evidence() }}"),
        ("{{ contrast() }}", "", "shows no contrast"),
        ("{{ chart('pressure') }}", "", "neither a chart nor a table"),
        ("{M05: fails}", "{M99: fails}", "unknown claim 'M99'"),
        ("preempted {preempted} times.", "preempted {peempted} times.", "unknown fact 'peempted'"),
        ("pool / size", "pool / sizes", "needs sizes"),
        ("size: 32 tokens", "size: pools", "unknown fact, calc or given number 'pools'"),
        ("kv_pool_tokens AS value", "kv_pool AS value", "the query cannot be run"),
        ('AND concurrency = 16"}\n  pool', '"}\n  pool', "mixes cells: repeat 1"),
    ],
)
def test_mistake_is_found_with_its_line(
    ws: Workspace, tmp_path: Path, old: str, new: str, message: str
) -> None:
    page = (FRONT + BODY).replace(old, new, 1)
    assert page != FRONT + BODY
    found = [p for p in problems(ws, tmp_path, page) if message in p.message]
    problem = found[0] if found else None
    assert problem is not None, problems(ws, tmp_path, page)
    assert 1 <= problem.line <= page.count("\n") + 1


def test_query_that_writes_is_a_problem_of_its_page(ws: Workspace, tmp_path: Path) -> None:
    page = (
        FRONT.replace("SELECT run_id, repeat, kv_pool_tokens AS value FROM", "DROP TABLE runs --", 1) + BODY
    )
    assert (
        "may only read" in only([p for p in problems(ws, tmp_path, page) if "pool" in p.message][:1]).message
    )


def test_everything_wrong_is_listed_at_once(ws: Workspace, tmp_path: Path) -> None:
    docs = write_pages(
        tmp_path,
        {
            "questions/memory.md": FRONT + BODY + "{{ fact('x') }} and {{ fact('y') }}",
            "questions/other.md": FRONT + BODY,
            "about.md": "It takes 30 ms.\n\n{{ nothing() }}\n",
        },
    )
    with pytest.raises(CheckFailed) as caught:
        fail(check_docs(ws, docs))
    for part in ("unknown fact 'x'", "unknown fact 'y'", "number 2 as well", "'30 ms' is typed", "'nothing'"):
        assert part in caught.value.message
    assert "5 problems found" in caught.value.message


def test_one_page_can_be_checked_alone(ws: Workspace, tmp_path: Path) -> None:
    docs = write_pages(tmp_path, {"bad.md": "It takes 30 ms.\n", "good.md": "It takes time.\n"})
    assert check_docs(ws, docs, docs / "good.md") == []
    assert len(check_docs(ws, docs, docs / "bad.md")) == 1
    with pytest.raises(InputError, match="no such page"):
        check_docs(ws, docs, docs / "none.md")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It took 158 ms and 9.5 requests.", ["158 ms", "9.5 requests"]),
        ("A hit rate of 0.905.", ["0.905"]),
        ("Up to 90 % of 12,288 tokens, 2.5× more.", ["90 %", "12,288 tokens", "2.5×"]),
        ("It served 10,000 req/s from 24 GB.", ["10,000 req/s", "24 GB"]),
        ("`158 ms` in code, {{ given('158 ms') }}, <b title='3 ms'>x</b>", []),
        ("vLLM 0.32.0, AIPerf 0.13 and Python 3.11 on 30 Nov 2026, question 17, p99, M05", []),
        ("```\ntook 158 ms\n```\n", []),
        ("[a page](which-0.5-page.md) and {given 20 ms}", []),
        ("An 8B model with 16-bit KV on two replicas", []),
    ],
)
def test_numbers_typed_by_hand(text: str, found: list[str]) -> None:
    assert [number for _, number in typed_numbers(text)] == found


def test_typed_number_has_its_line(ws: Workspace, tmp_path: Path) -> None:
    page = (
        FRONT.replace("good_because: it names the count", "good_because: it takes 3 ms")
        + BODY
        + "\n\nNow 4 ms.\n"
    )
    found = problems(ws, tmp_path, page)
    assert [p.line for p in found] == [
        page[: page.index("good_because")].count("\n") + 1,
        page[: page.index("Now 4 ms")].count("\n") + 1,
    ]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (FRONT.replace("It preempts: {preempted} times.", "word " * 26) + BODY, "answer has 26 words"),
        (FRONT + BODY + '{% call say("30 seconds") %}' + "word " * 81 + "{% endcall %}", "has 81 words"),
        (FRONT + BODY + "{{ calc('blocks') }}" * 9, "9 calcs, the ceiling is 8"),
        (FRONT + BODY + "{{ chart('pressure') }}" * 3, "4 charts, the ceiling is 3"),
    ],
)
def test_lengths_are_ceilings(ws: Workspace, tmp_path: Path, page: str, message: str) -> None:
    assert message in only(problems(ws, tmp_path, page)).message


def test_page_left_by_its_verdict_is_named(ws: Workspace, tmp_path: Path, data: SiteData) -> None:
    assert data.claims["M05"].verdict == "fails"
    docs = write_pages(tmp_path, {"questions/memory.md": FRONT.replace("M05: fails", "M05: holds") + BODY})
    assert moved_pages(ws, docs) == [
        "docs/questions/memory.md: M05 was written for holds, the data say fails"
    ]
