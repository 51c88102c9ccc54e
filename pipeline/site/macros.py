"""The thin adapter between the site engine (mkdocs-macros) and the pure functions of `voice`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.errors import WeighbridgeError
from pipeline.paths import PACKAGE, Workspace
from pipeline.site import blocks
from pipeline.schemas.sheet import Sheet
from pipeline.site.data import SiteData
from pipeline.site.frontmatter import practice_files, question_files, read_page, readable_pages
from pipeline.site.loading import load
from pipeline.site.navigation import expanded
from pipeline.site.page import QuestionPage
from pipeline.site.practice.deck import write_deck
from pipeline.site.publish import write_assets, write_redirects
from pipeline.site.vocabulary import BLOCKS, PAGE_MACROS, PLAIN_MACROS
from pipeline.site.voice import DECK, Site, Voice


def define_env(env: Any) -> None:
    """Register all macros; called by the site engine once a build."""
    extra = env.conf["extra"]
    site = make_site(
        workspace_of(env.conf),
        Path(env.conf["docs_dir"]),
        extra.get("wb_data"),
        alone=extra.get("wb_alone", False),
    )
    env.conf["nav"] = expanded(env.conf["nav"], [page.source for page in site.pages.values()])
    site.exports.extend(env.conf["extra"].get("wb_exports", []))
    env.wb_site = site
    for name in PAGE_MACROS:
        env.macro(_spoken(env, site, name), name)
    for name in PLAIN_MACROS:
        env.macro(getattr(blocks, name), name)
    for name in BLOCKS:
        env.macro(_around(getattr(blocks, name)), name)


def on_post_build(env: Any) -> None:
    """Write what pages point to: chart specifications and the script that draws them."""
    site, folder = env.wb_site, Path(env.conf["site_dir"])
    write_assets(folder, site.specifications, site.cache)
    write_redirects(folder, [page.source for page in site.pages.values()])
    if site.sheets and not env.conf["extra"].get("wb_alone"):
        write_deck(folder / DECK, site.notes(), site.data.today)


def workspace_of(conf: Any) -> Workspace:
    """The checkout whose data speak: that of the build, WEIGHBRIDGE_ROOT, or where mkdocs.yml lies."""
    named = conf["extra"].get("wb_root") or os.environ.get("WEIGHBRIDGE_ROOT")
    return Workspace(Path(named) if named else Path(conf["config_file_path"]).resolve().parent)


def make_site(ws: Workspace, docs: Path, known: SiteData | None = None, *, alone: bool = False) -> Site:
    """Read data and pages once for a whole build; data that the check has read are not read again.

    Where one page is built alone, others that cannot be read do not stand in its way.
    """
    data = known or load(ws)
    pages_read = readable_pages(docs) if alone else (read_page(p, docs.parent) for p in question_files(docs))
    sources = list(pages_read)
    pages = {str(source.path.relative_to(docs)): QuestionPage(source, data) for source in sources}
    drafts = [read_page(path, docs.parent, Sheet) for path in practice_files(docs)]
    sheets = {str(draft.path.relative_to(docs)): QuestionPage(draft, data) for draft in drafts}
    return Site(data, pages, ws.local / "cache" / "site", PACKAGE, sheets=sheets)


def _spoken(env: Any, site: Site, name: str) -> Callable[..., str]:
    def speak(*args: Any, **kwargs: Any) -> str:
        url = str(env.page.url)
        voice = Voice(site, str(env.page.file.src_uri), "../" * url.count("/") or "./")
        try:
            return str(getattr(voice, name)(*args, **kwargs))
        except WeighbridgeError as error:
            # The site engine prints a traceback and exits; the command that builds says this instead.
            env.conf["extra"].setdefault("wb_errors", []).append(error)
            raise

    speak.__doc__ = getattr(Voice, name).__doc__
    return speak


def _around(block: Callable[..., str]) -> Callable[..., str]:
    """A block that wraps words: {% call say("30 seconds") %} words {% endcall %}."""

    def wrap(*args: str, caller: Callable[[], str]) -> str:
        return block(*args, caller())

    return wrap
