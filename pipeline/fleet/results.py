"""What a simulation gives: one entry a request, and what the replicas and the router counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.fleet.regions import Regions
from pipeline.fleet.state import FINISHED, REJECTED, UNFINISHED

BEYOND = 10
"""Observations that must lie beyond a percentile for it to be stated."""
GROWING = 1.5
"""Requests in the system at the last arrival over those at half time, from which the load is unstable."""


@dataclass(frozen=True)
class Results:
    """Columnar outcome of one simulation; times include the network.

    Args:
        status: int8, 0 finished, 1 rejected, 2 dropped with its session, 3 unfinished.
        arrival_s, ttft_ms, e2e_ms, tpot_ms: float64; NaN where it did not happen.
        input_tokens, output_tokens: as asked.
        hit_tokens, offload_hit_tokens: prompt tokens found in the cache or the tier at first admission; -1
            where it was never admitted.
        preemptions: times the request was preempted.
        replica: replica that served it, -1 where none did.
        region: region it came from.
        regions: where replicas are, None for one place.
        replica_requests, replica_busy_s, replica_hit_tokens, replica_peak_kv_blocks: one entry a replica.
        duration_s: first to last event.
        steps, steps_outside_table, events: counts.
        backlog: requests in the system when half and when all had come.
    """

    status: Any
    arrival_s: Any
    ttft_ms: Any
    e2e_ms: Any
    tpot_ms: Any
    input_tokens: Any
    output_tokens: Any
    hit_tokens: Any
    offload_hit_tokens: Any
    preemptions: Any
    replica: Any
    region: Any
    regions: Regions | None
    replica_requests: Any
    replica_busy_s: Any
    replica_hit_tokens: Any
    replica_peak_kv_blocks: Any
    duration_s: float
    steps: int
    steps_outside_table: int
    events: int
    backlog: tuple[int, int]

    @property
    def finished(self) -> int:
        """Requests that ended."""
        return int((self.status == FINISHED).sum())

    @property
    def rejected(self) -> int:
        """Requests that found no room."""
        return int((self.status == REJECTED).sum())

    @property
    def unfinished(self) -> int:
        """Requests that had not ended when the run was cut."""
        return int((self.status == UNFINISHED).sum())

    @property
    def preemptions_total(self) -> int:
        """Preemptions of all requests."""
        return int(self.preemptions.sum())

    @property
    def hit_rate(self) -> float | None:
        """Hit tokens over prompt tokens of admitted requests; None where none was admitted."""
        admitted = self.hit_tokens >= 0
        tokens = int(self.input_tokens[admitted].sum())
        return float(self.hit_tokens[admitted].sum() / tokens) if tokens else None

    @property
    def imbalance(self) -> float:
        """Requests of the busiest replica over the mean; 1 is even."""
        mean = self.replica_requests.mean()
        return float(self.replica_requests.max() / mean) if mean else 1.0

    @property
    def utilisation(self) -> float:
        """Mean share of time that replicas spend in steps."""
        return float(self.replica_busy_s.mean() / self.duration_s) if self.duration_s else 0.0

    @property
    def output_tok_s(self) -> float:
        """Output tokens of finished requests per second."""
        tokens = float(self.output_tokens[self.status == FINISHED].sum())
        return tokens / self.duration_s if self.duration_s else 0.0

    @property
    def request_rate_s(self) -> float:
        """Finished requests per second."""
        return self.finished / self.duration_s if self.duration_s else 0.0

    @property
    def backlog_at_end(self) -> int:
        """Requests in the system at the last arrival."""
        return self.backlog[1]

    @property
    def unstable(self) -> bool:
        """Whether the queue grew to the end of the arrivals: the load is more than the fleet serves."""
        half, end = self.backlog
        many = 2 * len(self.replica_requests) + BEYOND
        return self.unfinished > 0 or (end > many and end > GROWING * max(half, 1))

    @property
    def traffic_requests(self) -> Any:
        """Requests from region (row) to region (column)."""
        sites = 1 if self.regions is None else len(self.regions.names)
        home = np.zeros(len(self.replica_requests), int)
        if self.regions is not None:
            home = np.repeat(np.arange(sites), self.regions.replicas)
        sent = self.replica >= 0
        table = np.zeros((sites, sites), np.int64)
        np.add.at(table, (self.region[sent], home[self.replica[sent]]), 1)
        return table

    def percentile(self, column: str, percent: float) -> float | None:
        """A percentile of a column over finished requests; None with fewer than ten beyond it."""
        values = getattr(self, column)[self.status == FINISHED]
        values = values[~np.isnan(values)]
        if round(len(values) * min(percent, 100 - percent) / 100, 9) < BEYOND:
            return None
        return float(np.percentile(values, percent))

    def mean(self, column: str) -> float | None:
        """Mean of a column over finished requests; None without any."""
        values = getattr(self, column)[self.status == FINISHED]
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else None

    def steady(self, skip: float = 0.2) -> Results:
        """The same without the first share of requests by arrival; replicas' counts stay those of the run."""
        order = np.argsort(self.arrival_s, kind="stable")
        kept = np.sort(order[int(len(order) * skip) :])
        columns = (
            "status arrival_s ttft_ms e2e_ms tpot_ms input_tokens output_tokens hit_tokens "
            "offload_hit_tokens preemptions replica region"
        )
        return replace(self, **{name: getattr(self, name)[kept] for name in columns.split()})
