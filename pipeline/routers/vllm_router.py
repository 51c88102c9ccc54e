"""vllm-router in front of equal replicas: start, readiness, its own decision counters, stop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from pipeline.environments import environment
from pipeline.errors import EngineFailure
from pipeline.process import ProcessGroup, child_environment, free_ports
from pipeline.schemas.words import Policy
from pipeline.telemetry.prometheus import Sample, scrape

DECISIONS = "vllm_router_prefix_routing_decisions_total"
SESSION_HEADER = "X-Session-ID"


@dataclass(frozen=True)
class RouterDecisions:
    """How often the router chose by prefix; None where the policy has no such counter."""

    hits: int | None
    misses: int | None
    missing_tokens: int | None


class VllmRouter:
    """One running router."""

    def __init__(self, policy: Policy, workers: Sequence[str], logs: Path, notes: Path) -> None:
        port, metrics_port = free_ports(2)
        self.url, self._metrics = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics_port}/metrics"
        line = [
            str(environment("vllm-router").bin("vllm-router")),
            "--worker-urls",
            *workers,
            "--policy",
            policy,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--prometheus-host",
            "127.0.0.1",
            "--prometheus-port",
            str(metrics_port),
        ]
        self._workers = len(workers)
        self._group = ProcessGroup(line, child_environment({}), logs / f"router-{policy}-{port}.log", notes)

    def wait_ready(self, deadline_s: float = 30.0) -> None:
        """Return when all workers are known and a request can pass."""
        until = time.monotonic() + deadline_s
        while time.monotonic() < until:
            if not self._group.alive():
                break
            if self._all_workers():
                return
            time.sleep(0.1)
        raise EngineFailure(
            f"vllm-router was not ready after {deadline_s:.0f} s",
            where=f"log {self._group.log}",
            next_step=f"its last words:\n{self._group.log_tail(4)}",
        )

    def decisions(self) -> RouterDecisions:
        """The router's own count of how it decided."""
        sample = self.counters()
        return RouterDecisions(
            *(_count(sample, word) for word in ("prefix_hit", "prefix_miss", "missing_tokens"))
        )

    def counters(self) -> Sample:
        """One reading of its counters."""
        return scrape(self._metrics)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._group.alive()

    def stop(self) -> None:
        """Stop it; a router may outlive TERM."""
        self._group.stop(wait_s=2.0)

    def _all_workers(self) -> bool:
        try:
            if httpx.get(f"{self.url}/health", timeout=2.0).status_code != httpx.codes.OK:
                return False
            return scrape(self._metrics, 2.0).get("vllm_router_active_workers") == self._workers
        except (httpx.HTTPError, EngineFailure):
            return False


def _count(sample: Sample, outcome: str) -> int | None:
    if sample.get(DECISIONS) is None:
        return None
    return int(sample.where(DECISIONS, outcome=outcome) or 0)
