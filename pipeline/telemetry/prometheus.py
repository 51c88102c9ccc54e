"""Prometheus text, read into plain numbers, and differences of counters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import httpx
from prometheus_client.parser import text_string_to_metric_families

from pipeline.errors import DataError, EngineFailure


@dataclass(frozen=True)
class Sample:
    """One scrape: counters and gauges summed over labels, and the label sets themselves."""

    values: Mapping[str, float]
    labelled: Mapping[str, tuple[tuple[Mapping[str, str], float], ...]]

    def get(self, name: str) -> float | None:
        """Sum over label sets, None where the server has no such metric."""
        return self.values.get(name)

    def where(self, name: str, **labels: str) -> float | None:
        """Sum over the label sets that hold these labels, None where there is none."""
        found = [v for have, v in self.labelled.get(name, ()) if labels.items() <= have.items()]
        return sum(found) if found else None

    def label(self, name: str, key: str) -> str | None:
        """A label of the first sample of a metric."""
        for labels, _ in self.labelled.get(name, ()):
            return labels.get(key)
        return None


def parse(text: str) -> Sample:
    """Prometheus exposition text as a Sample; histogram buckets are left out."""
    values: dict[str, float] = {}
    labelled: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith(("_bucket", "_created")):
                continue
            values[sample.name] = values.get(sample.name, 0.0) + sample.value
            labelled.setdefault(sample.name, []).append((sample.labels, sample.value))
    return Sample(values, {name: tuple(rows) for name, rows in labelled.items()})


def scrape(url: str, timeout_s: float = 10.0) -> Sample:
    """One reading of `url`.

    Raises:
        EngineFailure: where nothing answers.
    """
    return parse(_text(url, timeout_s))


def scrape_one(url: str, name: str, timeout_s: float = 10.0) -> float | None:
    """The first value of one metric, found without parsing the rest: cheap enough to repeat under load."""
    found = re.search(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", _text(url, timeout_s), re.MULTILINE)
    return float(found[1]) if found else None


@cache
def client() -> httpx.Client:
    """One client for all readings: a new one loads certificates, which costs more than the reading.

    Connections are not kept: a server that was started again on the same port would meet an old one.
    """
    return httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))


def _text(url: str, timeout_s: float) -> str:
    try:
        answer = client().get(url, timeout=timeout_s)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise EngineFailure(
            f"no counters from the server: {error}", where=url, next_step="see the server's log"
        ) from None
    return answer.text


def increase(before: Sample, after: Sample, name: str) -> float | None:
    """How much a counter grew; None where the server does not have it.

    Raises:
        DataError: where it went backwards, which means that the server was restarted in between.
    """
    start, end = before.get(name), after.get(name)
    if end is None:
        return None
    if end < (start or 0.0):
        raise DataError(
            f"counter {name} went backwards, from {start:g} to {end:g}",
            where="engine metrics",
            next_step="the server was restarted during the cell, which is marked failed; run again",
        )
    return end - (start or 0.0)
