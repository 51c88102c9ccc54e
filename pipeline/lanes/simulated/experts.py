"""Traffic of expert parallelism: tokens choose experts, a copy goes to every chip that holds one of them.

Bytes of a token and layer: one vector of 8 bits an element to each other chip (dispatch) and one of 16 bits
back (combine), as DeepSeek's expert parallelism sends them. Experts lie evenly over the chips, popular ones
by chance together; no copy of a popular expert is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from pipeline.lanes.simulated.cells import SEEDS
from pipeline.schemas.simulated import FleetMoeRow


@dataclass(frozen=True)
class Mixture:
    """The shape of a mixture-of-experts model."""

    name: str
    experts: int
    chosen: int
    hidden: int
    layers: int


# Public config of Kimi K2 (1 T parameters, 32 B active): 384 experts, 8 a token, 7,168 wide, 60 such layers.
TRILLION = Mixture("1T: 384 experts, 8 a token, 7168 wide, 60 layers", 384, 8, 7168, 60)
DISPATCH_BYTES, COMBINE_BYTES = 1, 2
CHIPS, SKEWS, TOKENS = (8, 16, 32, 64, 128), (0.0, 0.5, 1.0), (16, 64, 256)
PER_NODE = 8
SAMPLED = 4096
"""Tokens drawn for each seed."""
BUDGET_S = 0.010


def moe_rows(links: Mapping[str, float], chips: Sequence[int] = CHIPS) -> Iterator[FleetMoeRow]:
    """Rows over chips, skew, tokens and links.

    Args:
        links: links between nodes, name to GB/s a chip one way.
        chips: numbers of chips that the experts are spread over.
    """
    for spread, skew in product(chips, SKEWS):
        draws = [draw(TRILLION, spread, skew, seed) for seed in SEEDS]
        for tokens, (link, speed) in product(TOKENS, links.items()):
            yield _row(spread, skew, tokens, link, speed, draws)


@dataclass(frozen=True)
class Draw:
    """One seed: other chips and nodes that a token reaches in a layer, busiest chip over the mean."""

    copies: float
    nodes: float
    imbalance: float


def draw(model: Mixture, chips: int, skew: float, seed: int) -> Draw:
    """Draw tokens of one layer and count where they go."""
    random = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, model.experts + 1) ** skew
    chip_of = random.permutation(np.arange(model.experts) % chips)
    # Gumbel's trick: the largest of log-weights plus noise are a weighted draw without replacement.
    noise = random.gumbel(size=(SAMPLED, model.experts)) + np.log(weights)
    chosen = np.argpartition(-noise, model.chosen, axis=1)[:, : model.chosen]
    holders = chip_of[chosen]
    own = random.integers(0, chips, SAMPLED)
    load = np.bincount(holders.ravel(), minlength=chips)
    return Draw(
        _others(holders, own),
        _others(holders // PER_NODE, own // PER_NODE),
        float(load.max() / load.mean()),
    )


def _others(places: Any, own: Any) -> float:
    """Distinct places other than a token's own, mean over tokens."""
    ordered = np.sort(places, axis=1)
    distinct = 1 + (np.diff(ordered, axis=1) != 0).sum(axis=1)
    return float((distinct - (places == own[:, None]).any(axis=1)).mean())


def _row(chips: int, skew: float, tokens: int, link: str, speed: float, draws: list[Draw]) -> FleetMoeRow:
    each = TRILLION.hidden * (DISPATCH_BYTES + COMBINE_BYTES) * TRILLION.layers / 1e6
    copies, nodes = median(d.copies for d in draws), median(d.nodes for d in draws)
    busiest = median(d.imbalance for d in draws)
    crossing = nodes * each
    # A chip sends what its own tokens need; the busiest receives more by the imbalance.
    moved = tokens * crossing * busiest
    return FleetMoeRow(
        model=TRILLION.name,
        chips=chips,
        per_node=PER_NODE,
        skew=skew,
        tokens_per_chip=tokens,
        copies_per_token=float(copies),
        nodes_per_token=float(nodes),
        mb_per_token=float(copies * each),
        cross_node_mb_per_token=float(crossing),
        imbalance=float(busiest),
        imbalance_low=min(d.imbalance for d in draws),
        imbalance_high=max(d.imbalance for d in draws),
        link=link,
        link_gb_s=speed,
        all_to_all_ms=float(moved / speed),
        gb_s_at_10_ms=float(moved / 1000 / BUDGET_S),
        seeds=len(draws),
    )
