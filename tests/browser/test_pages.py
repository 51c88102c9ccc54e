"""What only a browser can tell: charts draw, nothing complains, nothing overflows, the keyboard reaches."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser

QUESTIONS = {
    "questions/kv-memory-runs-out/": 2,
    "questions/larger-batch-and-latency/": 2,
    "questions/routing-over-memory/": 2,
    "questions/which-routing-policy/": 3,
}
OTHERS = (
    "",
    "questions/",
    "claims/",
    "runs/",
    "data/",
    "corrections/",
    "method/",
    "glossary/",
    "architecture/",
    "contributing/",
)


def draw_all(page: Page, width: str) -> int:
    """Bring every chart of one width into view; returns how many are live Vega views."""
    plots = page.locator(f".wb-plot.{width}")
    for number in range(plots.count()):
        plots.nth(number).scroll_into_view_if_needed()
        expect(plots.nth(number)).to_have_attribute("data-live", "yes", timeout=20_000)
        assert plots.nth(number).evaluate("plot => plot.wbView.getState().signals !== undefined")
        expect(plots.nth(number).locator("svg.marks")).to_be_visible()
    return plots.count()


@pytest.mark.parametrize(("path", "charts"), QUESTIONS.items())
def test_each_chart_draws_live_and_nothing_complains(desk: Visitor, path: str, charts: int) -> None:
    visit = desk.open(path)
    assert draw_all(visit.page, "wide") == charts
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(desk.address)] == []


@pytest.mark.parametrize("path", OTHERS)
def test_other_pages_load_quietly_from_the_site_alone(desk: Visitor, path: str) -> None:
    visit = desk.open(path)
    visit.page.wait_for_load_state("networkidle")
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(desk.address)] == []


@pytest.mark.parametrize("path", [*QUESTIONS, *OTHERS])
def test_nothing_overflows_a_phone(phone: Visitor, path: str) -> None:
    page = phone.open(path).page
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider == 0


def test_phone_gets_the_narrow_drawing(phone: Visitor) -> None:
    page = phone.open("questions/which-routing-policy/").page
    assert draw_all(page, "narrow") == 3
    assert page.locator(".wb-plot.wide").first.is_hidden()


def test_picture_is_there_without_scripts(scriptless: Visitor) -> None:
    page = scriptless.open("questions/routing-over-memory/").page
    picture = page.locator("#chart-hit .wb-plot.wide svg")
    expect(picture).to_be_visible()
    assert "cache-aware" in (picture.text_content() or "")
    page.locator("a.wb-fact").first.click()
    assert "#ev-" in page.url


def test_theme_switch_recolours_a_chart_without_drawing_it_again(desk: Visitor) -> None:
    page = desk.open("questions/routing-over-memory/").page
    draw_all(page, "wide")
    text = page.locator("#chart-hit .wb-plot.wide svg text").first
    before = text.evaluate("mark => getComputedStyle(mark).fill")
    page.get_by_title("Switch to the dark theme").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    after = text.evaluate("mark => getComputedStyle(mark).fill")
    assert before != after


def test_tooltip_of_a_live_chart_tells_the_point(desk: Visitor) -> None:
    page = desk.open("questions/routing-over-memory/").page
    draw_all(page, "wide")
    page.locator("#chart-hit .mark-symbol path").first.hover()
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("cache-aware")
    expect(tooltip).to_contain_text("smallest to largest")


def test_fact_opens_by_keyboard_and_tells_where_it_comes_from(desk: Visitor) -> None:
    page = desk.open("questions/kv-memory-runs-out/").page
    fact = page.locator(".wb-verdict a.wb-fact").first
    for _ in range(60):
        page.keyboard.press("Tab")
        if fact.evaluate("link => link === document.activeElement"):
            break
    else:
        pytest.fail("the Tab key never reaches the fact")
    page.keyboard.press("Enter")
    bubble = page.locator(".wb-pop")
    expect(bubble).to_be_visible()
    for told in ("cpu", "30 Nov 2026", "vLLM 0.32.0", "n = 3", "weighbridge query", "your machine"):
        expect(bubble).to_contain_text(told)
    page.keyboard.press("Escape")
    expect(bubble).to_be_hidden()
    expect(fact).to_be_focused()


def test_claims_filter_and_count(desk: Visitor) -> None:
    page = desk.open("claims/").page
    shown = page.locator(".wb-claim:visible")
    assert shown.count() == 44
    page.locator("select[name=topic]").select_option("routing")
    page.locator("select[name=verdict]").select_option("depends")
    expect(page.locator(".wb-count")).to_have_text("1 of 44 claims")
    assert shown.evaluate_all("claims => claims.map(claim => claim.id)") == ["R01"]


def test_claims_are_all_there_without_scripts(scriptless: Visitor) -> None:
    page = scriptless.open("claims/").page
    assert page.locator(".wb-claim").count() == 44
    assert page.locator(".wb-filters").is_hidden()


def test_home_fits_one_screen(desk: Visitor) -> None:
    page = desk.open("").page
    bottom = page.locator(".wb-fresh").evaluate("row => row.getBoundingClientRect().bottom")
    assert bottom <= 800
