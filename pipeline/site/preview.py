"""Serving the site while pages are written: a failed build is reported, and the last good site stays."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mkdocs.livereload import LiveReloadServer

from pipeline.errors import InputError, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.site.build import Built, build_page, build_site
from pipeline.site.source import CONFIG, source_of

Make = Callable[[Workspace], Built]


def serve(ws: Workspace, host: str, port: int, page: Path | None = None) -> None:
    """Build, serve, and build again whenever a page or the data change; returns after Ctrl-C.

    Args:
        ws: the checkout.
        host: address to serve on.
        port: port to serve on; 0 takes a free one.
        page: the one question page to build; the whole site if None.

    Raises:
        CheckFailed: the first build fails and there is no earlier site to show.
        InputError: the port is taken.
    """
    chosen = free_port(host, port)
    make = _whole if page is None else partial(_alone, page)
    root = ws.site if page is None else ws.local / "preview"
    _first(ws, make, root)
    server = LiveReloadServer(lambda *_: _rebuild(ws, make), host=host, port=chosen, root=str(root))
    home = source_of(ws)
    for watched in (home / "docs", home / CONFIG, ws.data):
        server.watch(str(watched))
    place = server.url if page is None else f"{server.url}questions/{page.stem}/"
    print(f"Serving on {place} (Ctrl-C stops)", flush=True)
    try:
        server.serve()  # type: ignore[no-untyped-call]
    finally:
        server.shutdown()


def free_port(host: str, port: int) -> int:
    """The port itself, or a free one for 0.

    Raises:
        InputError: it is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot serve on port {port}: {error.strerror}",
                where=host,
                next_step="choose another with --port",
            ) from None
        return int(probe.getsockname()[1])


def _first(ws: Workspace, make: Make, root: Path) -> None:
    try:
        _report(ws, make)
    except WeighbridgeError as error:
        if not root.exists():
            raise
        print(f"{error.message}\nShowing the last good site.", flush=True)


def _whole(ws: Workspace) -> Built:
    return build_site(ws)


def _alone(page: Path, ws: Workspace) -> Built:
    return build_page(ws, page)


def _report(ws: Workspace, make: Make) -> None:
    built = make(ws)
    pages = f"{built.pages} pages" if built.pages > 1 else "the page"
    print(f"{time.strftime('%H:%M:%S')} built {pages} in {built.seconds:.1f} s", flush=True)


def _rebuild(ws: Workspace, make: Make) -> None:
    try:
        _report(ws, make)
    except WeighbridgeError as error:
        print(error.message, flush=True)
