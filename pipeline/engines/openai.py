"""What every server with OpenAI's interface has in common: health, a probe, its version and model name."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import httpx

from pipeline.engines.server import ServerSpec
from pipeline.errors import EngineFailure
from pipeline.schemas.launch import Launch
from pipeline.telemetry.prometheus import client

PROBE_TOKENS = 4
_EXCEPTION = re.compile(r"\b\w+(Error|Exception): \S")


class Handle(Protocol):
    """The process behind a server, however it was started."""

    @property
    def log(self) -> Path:
        """Its log."""

    @property
    def pid(self) -> int:
        """Leader of its session; of a container, its client."""

    def alive(self) -> bool:
        """Whether it runs."""

    def stop(self) -> None:
        """Stop it with all that it started."""

    def pids(self) -> frozenset[int] | None:
        """Its processes; None where they cannot be known."""


class OpenAiServer:
    """One running replica.

    Args:
        spec: what was to be started.
        handle: the process behind it.
        launch: how it was started; null on the cpu lane, whose command lines are in the code.
        url: its address; on this machine's port if null.
    """

    title: ClassVar[str] = "the server"

    def __init__(
        self, spec: ServerSpec, handle: Handle, launch: Launch | None = None, url: str | None = None
    ) -> None:
        self.spec, self.launch, self._handle = spec, launch, handle
        self._url = (url or f"http://127.0.0.1:{spec.port}").rstrip("/")

    @property
    def url(self) -> str:
        """Base address."""
        return self._url

    @property
    def log(self) -> Path:
        """The server's log."""
        return self._handle.log

    @property
    def pid(self) -> int:
        """Leader of its session."""
        return self._handle.pid

    def pids(self) -> frozenset[int] | None:
        """Its processes; None where they cannot be known."""
        return self._handle.pids()

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._handle.alive()

    def wait_healthy(self, deadline_s: float) -> None:
        """Return when /health answers 200."""
        until = time.monotonic() + deadline_s
        while time.monotonic() < until:
            if not self.alive():
                raise self._failure(f"{self.title} ended before it was ready")
            try:
                if client().get(f"{self.url}/health", timeout=2.0).status_code == httpx.codes.OK:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.5)
        raise self._failure(f"{self.title} was not healthy after {deadline_s:.0f} s")

    def probe(self) -> None:
        """One real completion of four tokens: an engine can be healthy and die at its first step."""
        body = {
            "model": self.model_name(),
            "prompt": "probe",
            "max_tokens": PROBE_TOKENS,
            "min_tokens": PROBE_TOKENS,
            "ignore_eos": True,
        }
        try:
            answer = client().post(f"{self.url}/v1/completions", json=body, timeout=60.0)
            answer.raise_for_status()
            tokens = answer.json()["usage"]["completion_tokens"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise self._failure(
                f"{self.title} is healthy but its first completion failed ({error})"
            ) from None
        if tokens != PROBE_TOKENS:
            raise self._failure(f"{self.title} gave {tokens} tokens where {PROBE_TOKENS} were asked")

    def model_name(self) -> str:
        """The name that requests must carry, as the server states it."""
        return str(self._json("/v1/models", "its model")["data"][0]["id"])

    def version(self) -> str:
        """Version as the server states it."""
        return str(self._json("/version", "its version")["version"])

    def stop(self) -> None:
        """Stop it with all that it started."""
        self._handle.stop()

    def cause(self) -> str | None:
        """The line of the log that names what went wrong."""
        return first_error(self.log)

    def _json(self, path: str, what: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = client().get(f"{self.url}{path}", timeout=10.0).json()
        except (httpx.HTTPError, ValueError) as error:
            raise self._failure(f"{self.title} does not state {what} ({error})") from None
        return found

    def _failure(self, what: str) -> EngineFailure:
        cause = self.cause()
        return EngineFailure(
            what + (f": {cause}" if cause else ""),
            where=f"replica {self.spec.index}, log {self.log}",
            next_step="read the log; `weighbridge doctor` tells what this machine lacks",
        )


def first_error(log: Path) -> str | None:
    """The line of a log that names the cause: the first exception, else the last line of level ERROR.

    The first, because the worker's own exception comes before the server's general complaint about it.
    """
    if not log.exists():
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    serious = [line for line in lines if " WARNING " not in line and " INFO " not in line]
    found = next((line for line in serious if _EXCEPTION.search(line)), None)
    found = found or next((line for line in reversed(serious) if " ERROR " in line), None)
    return found.split("] ", 1)[-1].strip()[:300] if found else None
