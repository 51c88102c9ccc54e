"""Addresses of pages that were published: a page that moves leaves a redirect behind.

The address of a question page is its file name, so a new title changes none. What was published is read from
the history of the checkout; without git (a downloaded archive) nothing is checked.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pipeline.site.frontmatter import PageSource
from pipeline.site.problems import Problem

FOLDER = "docs/questions"


def published_slugs(root: Path) -> set[str]:
    """Slugs of question pages that any commit of this checkout has had."""
    command = ["git", "log", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "--", FOLDER]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return set()
    lines = [Path(line) for line in found.stdout.splitlines() if line.startswith(f"{FOLDER}/")]
    return {path.stem for path in lines if path.suffix == ".md" and path.stem != "index"}


def check_addresses(root: Path, pages: Sequence[PageSource]) -> list[Problem]:
    """Published pages that are gone without a redirect, and redirects that hide a page."""
    here = {page.slug: page for page in pages}
    moved = {old: page for page in pages for old in page.question.redirect_from}
    lost = sorted(published_slugs(root) - here.keys() - moved.keys())
    problems = [
        Problem(
            f"{FOLDER}/{slug}.md",
            1,
            f"this page was published and is gone: name the page that answers now, "
            f"with `redirect_from: [{slug}]` in its front matter",
        )
        for slug in lost
    ]
    hidden = [
        Problem(page.name, page.line_of("redirect_from"), f"{old!r} is a page of its own, no old address")
        for old, page in moved.items()
        if old in here
    ]
    return [*problems, *hidden]


def redirect_page(slug: str, title: str) -> str:
    """HTML that stands at an old address and leads to the new one, with or without a script."""
    address = f"../{slug}/"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        f'<link rel="canonical" href="{address}"><meta http-equiv="refresh" content="0; url={address}">'
        f'</head><body><p>This page has moved: <a href="{address}">{escape(title)}</a></p></body></html>\n'
    )
