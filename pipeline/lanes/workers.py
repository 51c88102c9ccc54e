"""Which replica served a request: joined by request id from the engines' own logs.

vllm-router passes the client's X-Request-ID on, and vLLM logs it with each request it receives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_RECEIVED = re.compile(
    r"Received request (?:chatcmpl-(?P<chat>[0-9a-zA-Z-]+)|cmpl-(?P<text>[0-9a-zA-Z-]+)-0)[:.]"
)
_ITERATION = re.compile(
    r"Iteration\(\d+\): \d+ context requests, (?P<context>\d+) context tokens, "
    r"\d+ generation requests, (?P<generation>\d+) generation tokens"
)


class LogReader:
    """Reads what was added to a log since the last call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = path.stat().st_size if path.exists() else 0

    def new_text(self) -> str:
        """Text added since the last call."""
        with self.path.open("rb") as log:
            log.seek(self._offset)
            data = log.read()
        self._offset += len(data)
        return data.decode("utf-8", "replace")


def worker_of(texts: Sequence[str]) -> dict[str, int]:
    """Request id to index of the replica whose log names it."""
    return {
        match["chat"] or match["text"]: index
        for index, text in enumerate(texts)
        for match in _RECEIVED.finditer(text)
    }


def scheduled_tokens(texts: Iterable[str]) -> int | None:
    """Tokens of all engine steps, from the iteration log; None where the engine does not write it."""
    totals = [int(m["context"]) + int(m["generation"]) for text in texts for m in _ITERATION.finditer(text)]
    return sum(totals) if totals else None


def recomputed_tokens(
    scheduled: int | None, prompt: int | None, cached: int | None, output: int | None, requests: int
) -> int | None:
    """Tokens computed more than once.

    Without a preemption a request takes prompt - cached + output - 1 tokens (its last output token is not
    fed back); what the engine's steps took beyond that was computed again.
    """
    if scheduled is None or prompt is None or cached is None or output is None:
        return None
    return max(0, scheduled - (prompt - cached + output - requests))
