"""Every macro in a site of its own, built by the real engine; what a reader sees is compared."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.paths import PACKAGE
from pipeline.site.data import Change, SiteData
from pipeline.site.vocabulary import MACROS
from tests.fixtures.site import BODY, FRONT, text_of
from tests.site.conftest import TODAY, Mini

QUESTION = "questions/memory.md"
QUESTION_HTML = "questions/memory/index.html"
OTHER = (
    FRONT.replace("number: 2", "number: 3")
    .replace("related: [other]", "")
    .replace("What happens", "What else")
)

# Questions without a page; the list gets shorter as pages land.
WAITING = tomllib.loads((PACKAGE / "site" / "waiting.toml").read_text()).get("question", [])

# Macro: text of the page, and what must be readable in it. Question macros stand below the front matter.
ON_QUESTIONS = {
    "verdict": (
        "{{ verdict() }}",
        ["It preempts: 67 times.", "M05 ✕ fails", "measured on CPU", "vLLM 0.32.0"],
    ),
    "fact": ("Preempted {{ fact('preempted') }} times.", ["Preempted 67 times."]),
    "calc": ("{{ calc('blocks') }}", ["2,048 tokens / 32 tokens = 64 blocks < 100 blocks by arithmetic"]),
    "worked": ("That is {{ worked('blocks') }}.", ["That is 64 blocks ."]),
    "table": ("{{ table('pools') }}", ["KV pool (tokens)", "2,048", "vLLM", "measured on CPU", "reproduce"]),
    "chart": ("{{ chart('pressure') }}", ["Preemptions rise: 67 at 2,048 tokens .", "Preemptions by pool."]),
    "contrast": (
        "{{ contrast() }}",
        ["✕ BAD", "✓ GOOD", "Refuted by It preempted 67 times.", "Right when offloading is switched on"],
    ),
    "evidence": ("{{ evidence() }}", ["preemptions of the run", "30 Nov 2026", "weighbridge query", "n/a"]),
    "thresholds": ("{{ thresholds() }}", ["M05 fails", "the verdict turns where it falls to"]),
    "related_pages": ("{{ related_pages() }}", ["Related: What else when memory runs out?"]),
}
OPENED = [
    "Evidence, rule, history of claim M05",
    "It speaks for the claim when at most 0 tokens",
    "Turns at",
    "History Not recorded yet.",
]
ON_ANY_PAGE = {
    "ledger": ("{{ ledger() }}", ["44 claims", "M05", "vLLM pages KV state out", "no lane with authority", *OPENED]),
    "question_index": (
        "{{ question_index() }}",
        [WAITING[0]["title"], "not yet measured"] if WAITING else ["What happens"],
    ),
    "headlines": (
        "{{ headlines() }}",
        ["✕ fails", "What happens when memory runs out?", "cpu · 30 Nov 2026"],
    ),
    "pulse": ("{{ pulse() }}", ["44 claims:", "cpu: 2 days old", "gpu", "no verdicts changed this week"]),
    "runs": ("{{ runs() }}", ["synthetic-20261130T224500Z", "Some CPU, 2 cores", "weighbridge run cpu"]),
    "freshness": ("{{ freshness() }}", ["cpu", "2 days old", "30 days", "while its inputs stand"]),
    "corrections": ("{{ corrections() }}", ["No promoted run has been removed."]),
    "history": ("{{ history() }}", ["No verdict has changed since its first record."]),
    "moved": ("{{ moved() }}", ["None: prose and data agree."]),
    "arithmetic_list": ("{{ arithmetic_list() }}", ["KV pool of vLLM", "B a GPU", "gpu_worker.py"]),
    "log_check": ("{{ log_check() }}", ["Not computed yet"]),
    "formulas": ("{{ formulas() }}", ["12 × 1,024 = 12,288 tokens", "busiest replica over the mean"]),
    "dictionary": ("{{ dictionary() }}", ["latest_repeats", "prefix_hit_rate", "DOUBLE"]),
    "downloads": ("{{ downloads() }}", ["No exports in this build."]),
    "tree": ("{{ tree() }}", ["whiteboard.py", "Whiteboard arithmetic, evaluated and shown with units"]),
    "given": ("In {{ given('150 ms') }}.", ["In 150 ms ."]),
    "quoted": ("It says {{ quoted('12 ms', 'an article') }}.", ["12 ms as an article states"]),
    "say": (
        '{% call say("30 seconds") %}\nWords **aloud**.\n{% endcall %}',
        ["Say this in 30 seconds", "aloud"],
    ),
    "ask_first": ("{% call ask_first() %}\nWhich one?\n{% endcall %}", ["Ask first. Which one?"]),
    "board": ("{% call board() %}\n<b>1 + 1</b>\n{% endcall %}", ["1 + 1"]),
}


def test_old_address_leads_to_the_page(mini: Mini, tmp_path: Path) -> None:
    page = FRONT.replace("number: 2", "number: 2\nredirect_from: [old-name]") + "{{ verdict() }}"
    html = mini({"questions/memory.md": page}, "questions/old-name/index.html")
    assert 'url=../memory/"' in html
    assert "What happens when memory runs out?" in html


SHEET = """---
title: Sheet
facts:
  nothing: {label: never measured, lane: cpu, sql: "SELECT run_id, repeat, vram_peak_gib AS value FROM latest_repeats WHERE repeat > 9"}
calcs:
  double: {title: twice that, formula: 2 * each, unit: GB, inputs: {each: 8 GB}}
pictures:
  plan:
    title: "A plan with {double}."
    boxes:
      a: {title: Here, lines: ["holds {double} <b>"], column: 1, row: 1}
      b: {title: There, column: 2, row: 1}
    arrows: [{source: a, target: b, label: bytes}]
---
"""
ON_PRACTICE = {
    "interview": (
        "{{ interview() }}",
        ["What happens when memory runs out?", "Spoken 67 times.", "as reported: one point each", "3:1 and 4:2"],
    ),
    "quiz": ("{{ quiz() }}", ["“The engine pages it out.”", "✕ BAD", "“It recomputes, here 67 times.”", "✓ GOOD"]),
    "numbers": (
        "{{ numbers('double', 'memory.preempted', 'nothing') }}",
        ["twice that 16 GB calculated by formula", "preemptions of the run 67 cpu 30 Nov 2026", "not measured cpu n/a"],
    ),
    "picture": ("{{ picture('plan') }}", ["A plan with 16 GB.", "holds 16 GB <b>", "Here to There : bytes"]),
    "deck": ("{{ deck() }}", ["cards, built 2 Dec 2026", "for Anki", "CSV"]),
    "rubrics": ("{{ rubrics() }}", ["memory guarantee", "3 or 4", "1 or 2", "a mechanism without a capacity plan"]),
}


@pytest.mark.parametrize("name", ON_PRACTICE)
def test_practice_macro_renders(name: str, mini: Mini) -> None:
    body, wanted = ON_PRACTICE[name]
    spoken = '{% call say("30 seconds") %}\nSpoken {{ fact("preempted") }} times.\n{% endcall %}\n\n'
    pages = {"practice/sheet.md": SHEET + body, QUESTION: FRONT + spoken + BODY}
    text = text_of(mini(pages, "practice/sheet/index.html"))
    assert [words for words in wanted if squeezed(words) not in squeezed(text)] == []


@pytest.mark.parametrize("name", ON_QUESTIONS)
def test_question_macro_renders(name: str, mini: Mini) -> None:
    body, wanted = ON_QUESTIONS[name]
    text = text_of(mini({QUESTION: FRONT + body, "questions/other.md": OTHER + BODY}, QUESTION_HTML))
    assert [words for words in wanted if squeezed(words) not in squeezed(text)] == []


@pytest.mark.parametrize("name", ON_ANY_PAGE)
def test_plain_macro_renders(name: str, mini: Mini) -> None:
    body, wanted = ON_ANY_PAGE[name]
    text = text_of(mini({"index.md": body, QUESTION: FRONT + BODY}))
    assert [words for words in wanted if squeezed(words).lower() not in squeezed(text).lower()] == []


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_every_macro_has_a_site() -> None:
    assert sorted([*ON_QUESTIONS, *ON_ANY_PAGE, *ON_PRACTICE]) == sorted(MACROS)


def test_fact_is_a_link_to_its_row_of_evidence(mini: Mini) -> None:
    html = mini({QUESTION: FRONT + "{{ fact('preempted') }}\n\n{{ evidence() }}"}, QUESTION_HTML)
    link = re.search(r'<a class="wb-fact" href="#([\w-]+)" title="([^"]+)">67</a>', html)
    assert link is not None
    assert f'<tr id="{link[1]}">' in html
    for told in ("measured on CPU", "30 Nov 2026", "n = 3"):
        assert told in link[2]


def test_evidence_names_a_command_that_gives_the_rows(mini: Mini) -> None:
    text = text_of(mini({QUESTION: FRONT + "{{ evidence() }}"}, QUESTION_HTML))
    assert "WHERE run_id = 'synthetic-20261130T224500Z'" in text
    assert "vLLM 0.32.0, vllm-router 0.1.17, AIPerf 0.13.0" in text


def test_missing_fact_is_said_and_never_a_number(mini: Mini) -> None:
    html = mini({QUESTION: FRONT + "It took {{ fact('unmeasured') }}."}, QUESTION_HTML)
    assert 'class="wb-fact wb-missing"' in html
    assert "It took n/a ." in text_of(html)


def test_local_run_stands_beside_and_is_not_mixed_in(mini: Mini, local_data: SiteData) -> None:
    html = mini({QUESTION: FRONT + "{{ fact('preempted') }}\n\n{{ evidence() }}"}, QUESTION_HTML, local_data)
    text = text_of(html)
    assert "Your machine" in text
    assert "synthetic-20261201T080000Z" in text
    row = html.split('<tr id="ev-preempted">')[1].split("</tr>")[0]
    assert re.search(r'wb-n">3<', row), "n counts the promoted repeats only"
    assert re.search(r'wb-mine">67<', row)


def test_no_local_column_without_a_local_run(mini: Mini) -> None:
    assert "Your machine" not in text_of(mini({QUESTION: FRONT + "{{ evidence() }}"}, QUESTION_HTML))


def test_chart_carries_its_values_before_any_script(mini: Mini) -> None:
    html = mini({QUESTION: FRONT + "{{ chart('pressure') }}"}, QUESTION_HTML)
    wide = html.split('class="wb-plot wide"')[1].split("</svg>")[0]
    for value in ("90", "67", "24", "1,536", "2,048", "16 in flight"):
        assert f">{value}<" in wide
    assert html.count("<svg") == 2
    assert "var(--wb-m-" in wide
    assert "#0072B2" not in wide


def test_chart_specification_is_written_beside_the_page(mini: Mini, tmp_path: Path) -> None:
    html = mini({QUESTION: FRONT + "{{ chart('pressure') }}"}, QUESTION_HTML)
    address = re.search(r'data-spec="\.\./\.\./([^"]+)"', html)
    assert address is not None
    drawn = json.loads((tmp_path / "site" / address[1]).read_text())
    assert {row["value"] for row in drawn["datasets"]["points"]} >= {90, 67, 24, 0}
    assert (
        drawn["usermeta"]["title"].replace("\N{NO-BREAK SPACE}", " ")
        == "Preemptions rise: 67 at 2,048 tokens."
    )
    bundle = (tmp_path / "site" / "assets/vega/vega.js").read_text()
    assert "vegaEmbed" in bundle
    assert "window.wbColours" in bundle


def test_chart_has_its_data_as_a_table(mini: Mini) -> None:
    html = mini({QUESTION: FRONT + "{{ chart('pressure') }}"}, QUESTION_HTML)
    table = html.split("<table")[1].split("</table>")[0]
    assert "<th>Concurrency</th>" in table
    assert "KV pool (tokens)" in table
    assert re.search(r">16 in flight</td><td[^>]*>2,048</td><td[^>]*>67</td>", table)


def test_banner_when_the_data_leave_the_verdict(mini: Mini) -> None:
    page = FRONT.replace("M05: fails", "M05: holds") + BODY
    text = text_of(mini({QUESTION: page, "index.md": "{{ moved() }}"}, QUESTION_HTML))
    assert "The data have moved on." in text
    assert "M05 was holds, the data now say fails" in text


def test_moved_page_is_listed_for_its_author(mini: Mini) -> None:
    page = FRONT.replace("M05: fails", "M05: holds") + BODY
    assert "M05 was written for holds, the data say fails" in text_of(
        mini({QUESTION: page, "index.md": "{{ moved() }}"})
    )


def test_changes_of_the_week_are_counted_once_a_claim(mini: Mini, data: SiteData) -> None:
    changes = [
        Change("M05", None, "fails", TODAY, "first"),
        Change("M05", "fails", "holds", TODAY, "rule"),
        Change("M05", "holds", "fails", TODAY, "data"),
        Change("R06", "holds", "fails", TODAY.replace(day=1, month=1), "data"),
    ]
    text = text_of(mini({"index.md": "{{ pulse() }}\n\n{{ history() }}"}, of=replace(data, changes=changes)))
    assert "1 verdict changed this week" in text
    assert squeezed("R06 holds fails 1 Jan 2026 data") in squeezed(text)


def test_old_data_are_called_stale(mini: Mini, data: SiteData) -> None:
    old = replace(data, today=TODAY.replace(year=2027))
    assert "cpu: 367 days old (stale)" in text_of(mini({"index.md": "{{ pulse() }}"}, of=old))


def test_stale_verdict_says_so_beside_its_badge(mini: Mini, data: SiteData) -> None:
    claims = dict(data.claims) | {"M05": replace(data.claims["M05"], freshness="stale")}
    text = text_of(mini({QUESTION: FRONT + "{{ verdict() }}"}, QUESTION_HTML, replace(data, claims=claims)))
    assert "fails · stale" in text


def test_navigation_finds_a_place_for_a_page_by_its_topic(mini: Mini, tmp_path: Path) -> None:
    mini({QUESTION: FRONT + BODY})
    home = (tmp_path / "site" / "index.html").read_text()
    assert 'href="questions/memory/"' in home
