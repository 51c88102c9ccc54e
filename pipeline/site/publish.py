"""Files written at build time: chart specifications, the Vega bundle, the colours it must replace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeline.site.addresses import redirect_page
from pipeline.site.charts.kept import kept_bundle
from pipeline.site.charts.palette import variables
from pipeline.site.frontmatter import PageSource

BUNDLE = "assets/vega/vega.js"


def write_assets(site: Path, specifications: Mapping[str, str], cache: Path) -> None:
    """Write everything that pages point to but no Markdown file holds.

    Args:
        site: the folder being built.
        specifications: address below the site to Vega-Lite document.
        cache: folder that the Vega bundle is kept in.
    """
    for address, text in specifications.items():
        _write(site / address, text)
    if specifications:
        # The colours follow the bundle, so that the live picture has the page's theme as well.
        _write(site / BUNDLE, f"{kept_bundle(cache)}\nwindow.wbColours={json.dumps(variables())};\n")


def write_redirects(site: Path, pages: Iterable[PageSource]) -> None:
    """Leave a page at every old address."""
    for page in pages:
        for old in page.question.redirect_from:
            _write(site / "questions" / old / "index.html", redirect_page(page.slug, page.question.title))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
