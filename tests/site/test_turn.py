"""One changed row turns a verdict everywhere: no page is edited."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis.history import record
from pipeline.cli.check import fail_drifted
from pipeline.errors import CheckFailed
from pipeline.paths import Workspace
from pipeline.schemas.observation import Observation
from pipeline.site import macros
from pipeline.site.data import SiteData
from pipeline.site.lint import moved_pages
from pipeline.site.loading import load
from tests.fixtures.site import BODY, FRONT, built_html, made_up_workspace, text_of, write_pages
from tests.fixtures.rows import START
from tests.fixtures.synthetic_run import write_synthetic_run

PAGES = {
    "index.md": "# Home\n\n{{ headlines() }}\n\n{{ pulse() }}\n",
    "claims.md": "# Claims\n\n{{ ledger() }}\n\n{{ history() }}\n\n{{ moved() }}\n",
    "questions/memory.md": FRONT + BODY + "\n{{ thresholds() }}\n",
}


def nothing_is_recomputed(row: Observation) -> dict[str, Any]:
    return {"recomputed_tokens": 0} if row.recomputed_tokens else {}


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Path, dict[str, str], dict[str, str]]:
    """The same pages before and after the recomputed tokens of the run fell to the threshold of M05."""
    ws, root = made_up_workspace(tmp_path_factory.mktemp("data")), tmp_path_factory.mktemp("pages")
    write_pages(root, PAGES)
    record(ws, START)
    before = built(root, load(ws, START.date()))
    shutil.rmtree(ws.runs)
    write_synthetic_run(ws, promoted=True, change=nothing_is_recomputed)
    record(ws, START)
    return ws, root, before, built(root, load(ws, START.date()))


def built(root: Path, data: SiteData) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(macros, "load", lambda _: data)
        home = built_html(root, "index.html")
    pages = {"home": home}
    for name in ("claims", "questions/memory"):
        html = (root / "site" / name / "index.html").read_text(encoding="utf-8")
        pages[name] = html.split('role="main">', 1)[-1].split("<footer", 1)[0]
    return pages


Turned = tuple[Workspace, Path, dict[str, str], dict[str, str]]


def test_before_prose_and_data_agree(turned: Turned) -> None:
    _, _, before, _ = turned
    assert "wb-banner" not in before["questions/memory"]
    assert "M05 ✕ fails" in text_of(before["questions/memory"])
    assert "no verdicts changed this week" in text_of(before["home"])
    assert "moved on" not in text_of(before["home"])


def test_the_page_turns_and_raises_its_banner(turned: Turned) -> None:
    _, _, _, after = turned
    page = after["questions/memory"]
    assert '<div class="wb-verdict wb-holds">' in page
    assert "M05 ✓ holds" in text_of(page)
    assert "M05 was fails, the data now say holds" in text_of(page)
    assert "the verdict turns where it rises to" in text_of(page)


def test_the_ledger_and_its_history_turn(turned: Turned) -> None:
    _, _, _, after = turned
    assert 'id="M05" data-topic="memory" data-verdict="holds"' in after["claims"]
    text = text_of(after["claims"])
    assert "M05 fails holds 30 Nov 2026 data" in text
    assert "M05 was written for fails, the data say holds" in text


def test_the_home_page_tells_what_changed_and_which_page_waits(turned: Turned) -> None:
    _, _, _, after = turned
    text = text_of(after["home"])
    assert "✓ holds" in text
    assert "1 verdict changed this week" in text
    assert "The data have moved on from the words of: What happens when memory runs out?" in text


def test_drift_fails_and_names_the_page(turned: Turned) -> None:
    ws, root, _, _ = turned
    moved = moved_pages(ws, root / "docs")
    with pytest.raises(CheckFailed, match=r"memory\.md: M05 was written for fails, the data say holds") as caught:
        fail_drifted(moved)
    assert caught.value.exit_code == 8
    fail_drifted([])
