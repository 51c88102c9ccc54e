"""The real pages on made-up data, built once, served locally, looked at with a real browser."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from pipeline.paths import REPOSITORY
from pipeline.site.build import build_site
from tests.fixtures.site import made_up_workspace


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are no news."""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the built site is served, with a final slash."""
    ws = made_up_workspace(tmp_path_factory.mktemp("browser"), local=True)
    site = build_site(ws, REPOSITORY).site
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield started
        started.close()


@dataclass
class Visit:
    """A page that was opened, and what the browser complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@dataclass
class Visitor:
    """Opens pages of the site in one browser context."""

    context: BrowserContext
    address: str

    def open(self, path: str) -> Visit:
        visit = Visit(self.context.new_page())
        visit.page.on("console", lambda said: _note(visit, said.type, said.text))
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        visit.page.on("request", lambda request: visit.requests.append(request.url))
        visit.page.on("requestfailed", lambda request: visit.complaints.append(f"failed: {request.url}"))
        visit.page.goto(self.address + path)
        return visit


def _note(visit: Visit, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        visit.complaints.append(f"{kind}: {text}")


@pytest.fixture
def desk(browser: Browser, address: str) -> Iterator[Visitor]:
    """A wide window, light theme."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    yield Visitor(context, address)
    context.close()


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Visitor]:
    """The narrowest phone in use."""
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="light")
    yield Visitor(context, address)
    context.close()


@pytest.fixture
def scriptless(browser: Browser, address: str) -> Iterator[Visitor]:
    """A reader without scripts."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    yield Visitor(context, address)
    context.close()
