"""From a cell's traffic to the workload that the simulator runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.fleet import cloud_regions, open_loop, poisson, zipf_prefixes
from pipeline.fleet import diurnal as by_day
from pipeline.fleet import sessions as conversations
from pipeline.lanes.simulated.cells import Traffic

TURNS, THINK_S, TURN_TOKENS = 6, 10.0, 256
REGIONS = ("virginia", "frankfurt", "tokyo", "sydney")
PHASE_HOURS = (19.0, 13.0, 5.0, 4.0)
HASH_BLOCK = 256
SHAPE = 4.0


def workload(traffic: Traffic, seed: int) -> Any:
    """Requests of one seed."""
    if traffic.kind == "sessions":
        return _sessions(traffic, seed)
    if traffic.kind == "regional":
        return _regional(traffic, seed)
    arrivals = poisson(traffic.rate_s, requests=traffic.requests, seed=seed)
    if not traffic.shared:
        return open_loop(
            arrivals, _private(traffic, len(arrivals), seed), _lengths(traffic, len(arrivals), seed)
        )
    return _shared(traffic, arrivals, None, seed)


def _private(traffic: Traffic, number: int, seed: int) -> Any:
    """Tokens of one prompt alone: gamma, deviation half the mean; equal ones would flatter taking turns."""
    mean = traffic.prompt - traffic.prefix_tokens
    drawn = np.random.default_rng(seed + 2).gamma(SHAPE, mean / SHAPE, number)
    return np.clip(drawn, 16, 4 * mean).astype(np.int64)


def _lengths(traffic: Traffic, number: int, seed: int) -> Any:
    """Output lengths: geometric around the mean, as answers that end when they end."""
    drawn = np.random.default_rng(seed + 1).geometric(1 / traffic.output, number)
    return np.clip(drawn, 1, 4 * traffic.output).astype(np.int64)


def _shared(traffic: Traffic, arrivals: Any, region: Any, seed: int) -> Any:
    return zipf_prefixes(
        arrivals,
        groups=traffic.prefixes,
        prefix_tokens=traffic.prefix_tokens,
        private_tokens=_private(traffic, len(arrivals), seed),
        output_tokens=_lengths(traffic, len(arrivals), seed),
        skew=traffic.skew,
        hash_block_tokens=HASH_BLOCK,
        region=region,
        regional_share=traffic.regional_share,
        seed=seed,
    )


def _sessions(traffic: Traffic, seed: int) -> Any:
    return conversations(
        sessions=traffic.requests // TURNS,
        turns=TURNS,
        first_tokens=traffic.prompt,
        turn_tokens=TURN_TOKENS,
        output_tokens=traffic.output,
        think_s=THINK_S,
        start_rate_per_s=traffic.rate_s / TURNS,
        hash_block_tokens=HASH_BLOCK,
        seed=seed,
    )


def _regional(traffic: Traffic, seed: int) -> Any:
    rates, lasts = [traffic.rate_s / traffic.regions] * traffic.regions, traffic.requests / traffic.rate_s
    arrivals, region = by_day(
        rates,
        duration_s=lasts,
        day_s=lasts,
        peak_to_mean=traffic.peak_to_mean,
        phase_hours=list(PHASE_HOURS[: traffic.regions]),
        seed=seed,
    )
    if not traffic.shared:
        return open_loop(
            arrivals,
            _private(traffic, len(arrivals), seed),
            _lengths(traffic, len(arrivals), seed),
            region=region,
        )
    return _shared(traffic, arrivals, region, seed)


def regions_of(traffic: Traffic, replicas: int) -> Any:
    """The regions of a fleet; None with one."""
    if traffic.regions == 1:
        return None
    return cloud_regions(
        list(REGIONS[: traffic.regions]), replicas=[replicas // traffic.regions] * traffic.regions
    )
