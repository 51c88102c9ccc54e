"""Practice in a real browser: drawn, timed, revealed by keyboard, scored, kept, without a network."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser

INTERVIEW, QUIZ = "practice/interview/", "practice/bad-or-good/"
PAGES = ("practice/", INTERVIEW, QUIZ, "practice/numbers/", "practice/checklist/", "practice/walkthrough/")


def press_until(page: Page, selector: str, key: str = "Tab") -> None:
    """Reach an element as a reader without a mouse does."""
    for _ in range(80):
        if page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press(key)
    pytest.fail(f"the {key} key never reaches {selector}")


@pytest.mark.parametrize("path", PAGES)
def test_practice_page_is_quiet_and_fits_a_phone(phone: Visitor, path: str) -> None:
    visit = phone.open(path)
    visit.page.wait_for_load_state("networkidle")
    assert visit.complaints == []
    wider = visit.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider == 0


def test_interview_by_keyboard_without_a_network_and_its_score_is_kept(desk: Visitor) -> None:
    visit = desk.open(INTERVIEW)
    page = visit.page
    page.wait_for_load_state("networkidle")
    desk.context.set_offline(True)
    page.locator(".wb-draw select[name=topic]").select_option("Routing")
    page.locator(".wb-draw select[name=level]").select_option("senior")
    press_until(page, ".wb-draw button")
    page.keyboard.press("Enter")
    shown = page.locator(".wb-drill:visible")
    expect(shown).to_have_count(1)
    assert (shown.get_attribute("data-topic"), shown.get_attribute("data-level")) == ("Routing", "senior")
    expect(shown.locator("h2")).to_be_focused()
    expect(shown.locator(".wb-say").first).to_be_hidden()

    press_until(page, "[data-do=start]", "Shift+Tab")
    expect(page.locator(".wb-time")).to_have_text("0:30")
    page.keyboard.press("Enter")
    expect(page.locator(".wb-time")).to_have_text("0:29")
    press_until(page, "[data-do=reveal]")
    page.keyboard.press("Enter")
    expect(shown.locator(".wb-say").first).to_be_visible()
    expect(shown.locator(".wb-say").first).to_contain_text("Say this in 30 seconds")

    press_until(page, "[name=memory-guarantee]")
    page.keyboard.press("Space")
    expect(page.locator("[data-sum=memory]")).to_have_text("1 of 3")
    page.locator("[name=weight-routing][value='1']").check()
    page.locator("[name=weight-memory][value='0.5']").check()
    sums = page.locator("[data-sum=routing]")
    assert sums.all_text_contents() == ["3.5 of 4 at 3:1", "5 of 6 at 4:2"]
    title = shown.locator("h2").text_content() or ""
    expect(page.locator(".wb-progress li")).to_contain_text(title)
    assert visit.complaints == []

    desk.context.set_offline(False)
    again = desk.open(INTERVIEW).page
    expect(again.locator(".wb-progress li")).to_contain_text(
        "memory 1 of 3, routing 3.5 of 4 at 3:1, routing 5 of 6 at 4:2"
    )
    again.locator(".wb-progress [data-do=forget]").click()
    expect(again.locator(".wb-summary")).to_contain_text("0 of")


def test_timer_pauses_and_ends_aloud(desk: Visitor) -> None:
    page = desk.open("").page
    page.clock.install()
    page.goto(desk.address + INTERVIEW)
    page.locator(".wb-draw button").click()
    start, told = page.locator("[data-do=start]"), page.locator(".wb-clock [aria-live]")
    start.click()
    page.clock.run_for(10_000)
    start.click()
    expect(page.locator(".wb-time")).to_have_text("0:20")
    page.clock.run_for(5_000)
    expect(page.locator(".wb-time")).to_have_text("0:20")
    start.click()
    page.clock.run_for(6_000)
    expect(told).to_contain_text("seconds left")
    page.clock.run_for(15_000)
    expect(told).to_have_text("Time is up")
    expect(page.locator(".wb-time")).to_have_text("0:00")


def answer(page: Page, right: bool) -> None:
    """Answer the item that is shown, by its own label or by another."""
    label = page.locator(".wb-item:visible").get_attribute("data-label")
    chosen = label if right else ("good" if label != "good" else "bad")
    page.locator(f"[data-answer={chosen}]").click()


def test_quiz_counts_explains_and_remembers(desk: Visitor) -> None:
    visit = desk.open(QUIZ)
    page = visit.page
    expect(page.locator(".wb-item:visible")).to_have_count(1)
    expect(page.locator(".wb-item:visible details")).to_be_hidden()
    answer(page, right=True)
    expect(page.locator(".wb-heard")).to_contain_text("Right")
    expect(page.locator(".wb-heard")).to_be_focused()
    expect(page.locator(".wb-item:visible .wb-why").first).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".wb-item:visible blockquote")).to_be_focused()
    answer(page, right=False)
    expect(page.locator(".wb-heard")).to_contain_text("No. This one is")
    total = page.locator(".wb-item").count()
    expect(page.locator(".wb-standing")).to_have_text(f"2 of {total} answered, 1 right")
    again = desk.open(QUIZ).page
    expect(again.locator(".wb-standing")).to_have_text(f"2 of {total} answered, 1 right")
    assert visit.complaints == []


def test_practice_works_where_storage_is_denied(browser: Browser, address: str) -> None:
    context = browser.new_context()
    denied = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied'); }})"
    context.add_init_script(denied)
    page = context.new_page()
    page.goto(address + QUIZ)
    answer(page, right=True)
    expect(page.locator(".wb-standing")).to_contain_text("1 of")
    context.close()


def test_everything_is_there_without_scripts(scriptless: Visitor) -> None:
    page = scriptless.open(INTERVIEW).page
    assert page.locator(".wb-drill:visible").count() == page.locator(".wb-drill").count() > 0
    expect(page.locator(".wb-draw")).to_be_hidden()
    page.locator(".wb-drill summary").first.click()
    expect(page.locator(".wb-drill .wb-say").first).to_be_visible()


def test_numbers_print_on_one_page(desk: Visitor) -> None:
    page = desk.open("practice/numbers/").page
    page.emulate_media(media="print")
    expect(page.locator(".wb-numbers").first).to_be_visible()
    expect(page.locator(".wb-evidence")).to_be_hidden()
    pdf = page.pdf(format="A4")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 1
