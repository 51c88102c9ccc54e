"""Serving the site while pages are written: a failed build is reported, and the last good site stays."""

from __future__ import annotations

import socket
import time

from mkdocs.livereload import LiveReloadServer

from pipeline.errors import InputError, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.site.build import build_site
from pipeline.site.source import CONFIG, source_of


def serve(ws: Workspace, host: str, port: int) -> None:
    """Build, serve, and build again whenever a page or the data change; returns after Ctrl-C.

    Raises:
        CheckFailed: the first build fails and there is no earlier site to show.
        InputError: the port is taken.
    """
    chosen = free_port(host, port)
    _first(ws)
    server = LiveReloadServer(lambda *_: _rebuild(ws), host=host, port=chosen, root=str(ws.site))
    home = source_of(ws)
    for watched in (home / "docs", home / CONFIG, ws.data):
        server.watch(str(watched))
    print(f"Serving on {server.url} (Ctrl-C stops)", flush=True)
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


def _first(ws: Workspace) -> None:
    try:
        _report(ws)
    except WeighbridgeError as error:
        if not (ws.site / "index.html").exists():
            raise
        print(f"{error.message}\nShowing the last good site.", flush=True)


def _report(ws: Workspace) -> None:
    built = build_site(ws)
    print(f"{time.strftime('%H:%M:%S')} built {built.pages} pages in {built.seconds:.1f} s", flush=True)


def _rebuild(ws: Workspace) -> None:
    try:
        _report(ws)
    except WeighbridgeError as error:
        print(error.message, flush=True)
