"""Building the site whole or not at all: check, render, scan, then swap with the last good one."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pathspec
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException

from pipeline.errors import CheckFailed, InputError, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.site.data import SiteData
from pipeline.site.export import FOLDER, exported
from pipeline.site.frontmatter import question_files
from pipeline.site.htmlscan import scan_site
from pipeline.site.lint import check_docs, readable
from pipeline.site.problems import fail
from pipeline.site.source import CONFIG, source_of


@dataclass(frozen=True)
class Built:
    """A site that was built and put in place."""

    site: Path
    pages: int
    seconds: float


def build_site(ws: Workspace, source: Path | None = None) -> Built:
    """Build the whole site and put it in place of the last one.

    Args:
        ws: whose data speak, and where `site/` goes.
        source: folder with mkdocs.yml and docs/; the workspace, or this checkout where it has none.

    Raises:
        CheckFailed: pages, macros or the built HTML have problems; the last good site stays.
        InputError: there is nothing to build.
    """
    start, home = time.monotonic(), source or source_of(ws)
    data = readable(ws)
    fail(check_docs(ws, home / "docs", data=data))
    ws.local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="site-", dir=ws.local) as scratch:
        fresh = Path(scratch) / "site"
        render(ws, home, fresh, data)
        fail(scan_site(fresh))
        swap(fresh, ws.site)
    return Built(ws.site, len(list(ws.site.rglob("*.html"))), time.monotonic() - start)


def build_page(ws: Workspace, page: Path) -> Built:
    """Check and build one question page alone, into the local folder; its links lead to pages not built.

    Raises:
        CheckFailed: the page has problems; the last good preview stays.
        InputError: the page does not exist, or is no question page.
    """
    start, home = time.monotonic(), source_of(ws)
    if page.resolve() not in question_files((home / "docs").resolve()):
        raise InputError("this is no question page", where=str(page), next_step="preview without a page")
    data = readable(ws)
    fail(check_docs(ws, home / "docs", page, data))
    target = ws.local / "preview"
    with tempfile.TemporaryDirectory(prefix="page-", dir=ws.local) as scratch:
        fresh = Path(scratch) / "site"
        config = load_config(str(home / CONFIG), site_dir=str(fresh), strict=False, nav=[])
        config.exclude_docs = pathspec.gitignore.GitIgnoreSpec.from_lines(
            ["*.md", f"!/questions/{page.name}"]
        )
        config.extra.update({"wb_root": str(ws.root), "wb_errors": [], "wb_data": data, "wb_alone": True})
        with warnings_of("mkdocs"):
            _run(config)
        fail(scan_site(fresh))
        swap(fresh, target)
    return Built(target, 1, time.monotonic() - start)


def render(ws: Workspace, home: Path, site: Path, data: SiteData | None = None) -> None:
    """Render all pages into a folder.

    Raises:
        CheckFailed: the site engine or a macro refused; every reason is in the message.
    """
    config = load_config(str(home / CONFIG), site_dir=str(site), strict=True)
    errors: list[WeighbridgeError] = []
    downloads = site.with_name(FOLDER)
    files = exported(ws, downloads)
    config.extra.update({"wb_root": str(ws.root), "wb_errors": errors, "wb_exports": files, "wb_data": data})
    with warnings_of("mkdocs") as warned:
        try:
            _run(config)
        except (MkDocsException, SystemExit) as stopped:
            if errors:
                raise errors[0] from None
            reason = "\n".join(f"  {line}" for line in warned) or str(stopped)
            raise CheckFailed(f"the site engine refused:\n{reason}", where=str(home)) from None
    # The site engine empties its folder first, so downloads move in last.
    downloads.rename(site / FOLDER)


def _run(config: MkDocsConfig) -> None:
    config.plugins.on_startup(command="build", dirty=False)
    try:
        mkdocs_build(config)
    finally:
        config.plugins.on_shutdown()


@contextmanager
def warnings_of(name: str) -> Iterator[list[str]]:
    """Collect what a logger says at warning level and above, and keep it off the screen."""
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def swap(fresh: Path, site: Path) -> None:
    """Put a finished site in place; at no moment is a half-written one there."""
    old = fresh.with_name("old")
    if site.exists():
        site.rename(old)
    try:
        fresh.rename(site)
    except OSError:
        if old.exists():
            old.rename(site)
        raise
    shutil.rmtree(old, ignore_errors=True)
