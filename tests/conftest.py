"""What all tests share: engines and browser are asked for by marker; what was skipped is named at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from pipeline.environments import BY_DEFAULT, environment
from pipeline.environments.machine import browser
from pipeline.errors import EnvironmentMissing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine lacks the means for, with the reason."""
    reasons = {"engine": _no_engines(), "browser": _no_browser()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def _no_engines() -> str | None:
    try:
        for name in (one.name for one in BY_DEFAULT):
            environment(name)
    except EnvironmentMissing as missing:
        return missing.what
    return None


def _no_browser() -> str | None:
    return None if browser() else "no Chromium on this machine (scripts/browser.sh installs one)"


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser of this machine."""
    found = browser()
    assert found is not None, "tests that use this fixture carry the marker `browser`"
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> Iterator[None]:
    """Name every skipped test and why, just above pytest's closing line."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("skipped here, and why")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.line(f"{report.nodeid}: {reason.removeprefix('Skipped: ')}")
