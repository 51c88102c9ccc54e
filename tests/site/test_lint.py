"""What `weighbridge check` finds, each with file and line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.errors import CheckFailed, InputError
from pipeline.paths import Workspace
from pipeline.site.data import SiteData
from pipeline.site import lint, loading
from pipeline.site.lint import check_docs, moved_pages
from pipeline.site.problems import Problem, fail
from pipeline.site.prose import typed_numbers
from tests.fixtures.site import BODY, FRONT, made_up_workspace, write_pages

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
        ("topic: memory", "topic: memroy", "unknown word 'memroy'; did you mean 'memory'?"),
        ("level: mid", "level: middle", "unknown word 'middle'; did you mean 'mid'?"),
        ("answer:", "anwser:", "there is no such field; did you mean 'answer'?"),
        ("number: 2", "number: 2\nnumber: 3", "'number' is written twice"),
        ("title: What", "titel: What", "field title: this field is missing"),
        ("says: The engine", "says: <script>x</script> The engine", "field contrasts.paging.says holds HTML"),
        ("related: [other]", "related: [other", "front matter is not YAML"),
        ("'kv_pressure' AND phase", "'kv_presure' AND phase", "the query gives no row; no row has experiment"),
        ("'kv_pressure' AND phase", "'kv_presure' AND phase", "did you mean 'kv_pressure'?"),
        ("preemptions AS value", "vram_peak_gib AS value", "the query gives a null"),
        ("concurrency, preemptions FROM", "concurrency, NULL AS preemptions FROM", "the chart has no data"),
        ("blocks: {title", "pool: {title", "'pool' names a fact and a calc"),
        ("{{ evidence() }}", "{{ evidence() }}\n<script>1</script>", "'<script' may not stand on a page"),
        ("{{ evidence() }}", "{{ evidence() }}\n<b onclick='x()'>b</b>", "may not stand on a page"),
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
        ("It took 12.7 ms.", ["12.7 ms"]),
        ("Between 10-12 ms and 3–5 GB, -28 % and $0.02.", ["10-12 ms", "3–5 GB", "28 %", "$0.02"]),
        ("It waits 3 seconds, 90 percent of 5 TFLOPS.", ["3 seconds", "90 percent", "5 TFLOPS"]),
        ("## Holds up to 24 GB\n\n| load | TPOT |\n|---|---|\n| high | 12.7 ms |", ["24 GB", "12.7 ms"]),
        ("![TPOT of 12.7 ms](x.svg) and <img alt='a 24 GB card' title='9 ms'>", ["12.7 ms", "24 GB"]),
        ("Llama 3.1 over PCIe 5.0 on an A100 80GB and an H100-SXM 80 GB, claim R19, 2026-11-30", []),
    ],
)
def test_numbers_typed_by_hand(text: str, found: list[str]) -> None:
    assert [number for _, number in typed_numbers(text)] == found


def test_typed_number_is_told_with_the_macros_to_use(ws: Workspace, tmp_path: Path) -> None:
    problem = only(problems(ws, tmp_path, FRONT + BODY + "\nIt took 12.7 ms.\n"))
    assert problem.line == (FRONT + BODY).count("\n") + 2
    for part in ("'12.7 ms' is typed by hand", 'fact("name")', 'given("12.7 ms")', 'quoted("12.7 ms", "source")'):
        assert part in problem.message


def test_wrong_claims_and_wrong_pages_are_told_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = made_up_workspace(tmp_path / "data")
    claim = ws.claims / "M05.toml"
    claim.write_text(claim.read_text().replace('topic = "memory"', 'topic = "memroy"'))
    monkeypatch.setattr(lint, "load", loading.load)
    found = check_docs(ws, write_pages(tmp_path, {"questions/memory.md": FRONT + BODY + "In 30 ms.\n"}))
    messages = "\n".join(map(str, found))
    assert "data/claims/M05.toml" in messages
    assert "field topic" in messages
    assert "'30 ms' is typed by hand" in messages


def test_a_page_that_moved_must_leave_a_redirect(ws: Workspace, tmp_path: Path) -> None:
    docs = write_pages(tmp_path, {"questions/memory.md": FRONT + BODY})
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (docs / "questions" / "memory.md").rename(docs / "questions" / "kv-memory.md")
    problem = only(check_docs(ws, docs))
    assert problem.file == "docs/questions/memory.md"
    assert "`redirect_from: [memory]`" in problem.message
    moved = FRONT.replace("number: 2", "number: 2\nredirect_from: [memory]") + BODY
    (docs / "questions" / "kv-memory.md").write_text(moved)
    assert check_docs(ws, docs) == []


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
