"""How much of what would cross between regions a cache in each region saves.

Every shared prefix has a home region. A request goes to its own region first: nothing crosses if the prefix
is at home there or in the region's cache (least recently used); else the prefix crosses. Compared with any
region serving any request, where it crosses unless the two agree by chance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from pipeline.lanes.simulated.cells import SEEDS
from pipeline.schemas.simulated import FleetRegionRow

REGIONS = 4
PREFIXES, REQUESTS, WARM_UP = 2000, 40_000, 0.5
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CACHES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
SKEWS = (0.0, 0.6, 0.9, 1.2)


@dataclass(frozen=True)
class Crossing:
    """Requests of one run, those with a prefix at home elsewhere, and those of them that missed the cache."""

    requests: int
    foreign: int
    missed: int


def region_rows() -> Iterator[FleetRegionRow]:
    """Saving over regional share, cache size and skew."""
    for skew, share, cache in product(SKEWS, SHARES, CACHES):
        runs = [crossing(share, cache, skew, seed) for seed in SEEDS]
        yield region_row("zipf", share, skew, cache, runs)


def crossing(share: float, cache: float, skew: float, seed: int) -> Crossing:
    """One run, all regions.

    Args:
        share: part of requests whose prefix only their own region uses.
        cache: cache of a region over all prefixes that several regions use.
        skew: Zipf exponent of popularity among those.
        seed: of all draws.
    """
    random = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, PREFIXES + 1) ** skew
    home = random.integers(0, REGIONS, PREFIXES)
    region = random.integers(0, REGIONS, REQUESTS)
    own = random.random(REQUESTS) < share
    wanted = random.choice(PREFIXES, REQUESTS, p=weights / weights.sum())
    first = int(REQUESTS * WARM_UP)
    foreign = missed = 0
    for at in range(REGIONS):
        mine = np.flatnonzero((region == at) & ~own)
        asked = mine[home[wanted[mine]] != at]
        hits = lru_hits(wanted[asked].tolist(), round(cache * PREFIXES))
        late = asked >= first
        foreign += int(late.sum())
        missed += int((late & ~hits).sum())
    return Crossing(REQUESTS - first, foreign, missed)


def lru_hits(asked: list[int], room: int) -> Any:
    """For each request in order, whether a least-recently-used cache of `room` entries holds it."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = np.zeros(len(asked), dtype=bool)
    for place, entry in enumerate(asked):
        if entry in held:
            held.move_to_end(entry)
            hits[place] = True
        elif room:
            if len(held) >= room:
                held.popitem(last=False)
            held[entry] = None
    return hits


def region_row(
    source: str, share: float, skew: float | None, cache: float, runs: list[Crossing]
) -> FleetRegionRow:
    """Runs of several seeds in one row."""
    blind = 1 - 1 / REGIONS
    crossings = [run.missed / run.requests for run in runs]
    savings = [1 - each / blind for each in crossings]
    hits = [1 - run.missed / run.foreign if run.foreign else 0.0 for run in runs]
    return FleetRegionRow(
        source=source,
        regions=REGIONS,
        regional_share=share,
        skew=skew,
        cache_share=cache,
        requests=runs[0].requests,
        hit_rate=float(median(hits)),
        crossing_share=float(median(crossings)),
        crossing_share_blind=blind,
        saving=float(median(savings)),
        saving_low=min(savings),
        saving_high=max(savings),
        saving_of_cache=float(median(hits)),
        seeds=len(runs),
    )
