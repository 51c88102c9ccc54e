"""TensorRT-LLM's `/metrics`: a JSON list of iterations that is emptied by reading it, so it has one reader.

Shape: the page on trtllm-serve in TensorRT-LLM's documentation. Keys differ by version and the list may be
empty, so whatever is there is taken and nothing is required. `reusedBlocks` and `missedBlocks` count from the
server's start; offload and onboard bytes are those of one iteration.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from pipeline.telemetry.prometheus import Sample, client

READ_EVERY_S = 0.5
_SINCE_START = {"reusedBlocks": "reused_blocks", "missedBlocks": "missed_blocks"}
_AS_IT_STANDS = {"maxNumBlocks": "max_blocks", "tokensPerBlock": "tokens_per_block"}
_ADDS_UP = {"iterOffloadBytes": "offload_bytes", "iterOnboardBytes": "onboard_bytes"}


class IterationReader:
    """The one reader of a server's list: drains it in a thread and keeps sums and peaks.

    Args:
        url: address of `/metrics`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._values: dict[str, float] = {}
        self._usage: float | None = None
        self._usage_peak: float | None = None
        self.reads_empty = 0
        self.gone = False
        self._guard = threading.Lock()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read."""
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._end.set()
        if self._thread:
            self._thread.join(5.0)

    def drain(self) -> None:
        """Read once; a list that is empty, absent or not a list changes nothing but what is noted."""
        try:
            answer = client().get(self._url, timeout=5.0)
            answer.raise_for_status()
            found = answer.json()
        except (httpx.HTTPError, ValueError):
            self.gone = True
            return
        self.gone = False
        with self._guard:
            self.take(found if isinstance(found, list) else [])

    def take(self, iterations: Sequence[Any]) -> None:
        """Add iterations to what is known."""
        self.reads_empty += not iterations
        for each in iterations:
            if isinstance(each, Mapping):
                self._take_cache(each.get("kvCacheStats"))
                self._take_bytes(each.get("kvCacheIterationStats"))
                batching = each.get("inflightBatchingStats")
                paused = _number(batching, "numPausedRequests")
                if paused is not None:
                    self._raise("paused_peak", paused)

    def sample(self) -> Sample:
        """All that is known, as one scrape."""
        self.drain()
        with self._guard:
            values = {f"trtllm_iteration_{name}": value for name, value in self._values.items()}
        return Sample(values, {})

    def usage(self) -> float | None:
        """Share of KV blocks in use as of the last iteration, 0 to 1."""
        with self._guard:
            return self._usage

    def usage_peak(self) -> float | None:
        """Largest share of KV blocks in use since `forget_peaks`."""
        with self._guard:
            return self._usage_peak

    def forget_peaks(self) -> None:
        """Begin peaks anew: a cell starts."""
        with self._guard:
            self._usage_peak = None
            self._values.pop("paused_peak", None)

    def _take_cache(self, stats: object) -> None:
        for key, name in (_SINCE_START | _AS_IT_STANDS).items():
            value = _number(stats, key)
            if value is not None:
                self._values[name] = value
        used, most = _number(stats, "usedNumBlocks"), _number(stats, "maxNumBlocks")
        if used is not None and most:
            self._usage = used / most
            self._usage_peak = max(self._usage_peak or 0.0, self._usage)

    def _take_bytes(self, stats: object) -> None:
        for key, name in _ADDS_UP.items():
            value = _number(stats, key)
            if value is not None:
                self._values[name] = self._values.get(name, 0.0) + value

    def _raise(self, name: str, value: float) -> None:
        self._values[name] = max(self._values.get(name, 0.0), value)

    def _loop(self) -> None:
        while not self._end.wait(READ_EVERY_S):
            self.drain()


def _number(stats: object, key: str) -> float | None:
    value = stats.get(key) if isinstance(stats, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
