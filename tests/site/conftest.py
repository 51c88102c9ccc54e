"""One made-up workspace, read once, for all tests of the site."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from pipeline.paths import Workspace
from pipeline.site import lint, macros
from pipeline.site.data import SiteData
from pipeline.site.loading import load
from tests.fixtures.site import built_html, made_up_workspace, write_pages

TODAY = date(2026, 12, 2)


@pytest.fixture(scope="session")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made_up_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def data(ws: Workspace) -> SiteData:
    return load(ws, TODAY)


@pytest.fixture(scope="session")
def local_data(tmp_path_factory: pytest.TempPathFactory) -> SiteData:
    """The same with a local run besides."""
    return load(made_up_workspace(tmp_path_factory.mktemp("local"), local=True), TODAY)


Mini = Callable[..., str]


@pytest.fixture
def mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: SiteData) -> Mini:
    """Build a mini-site for real and give the HTML of one page."""

    def make(pages: dict[str, str], page: str = "index.html", of: SiteData = data) -> str:
        monkeypatch.setattr(macros, "load", lambda _: of)
        write_pages(tmp_path, pages)
        return built_html(tmp_path, page)

    return make


@pytest.fixture
def known_data(monkeypatch: pytest.MonkeyPatch, data: SiteData) -> SiteData:
    """Checks that would read the store read the made-up one, already in memory."""
    monkeypatch.setattr(lint, "load", lambda _: data)
    return data
