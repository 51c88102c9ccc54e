"""Error measures of predictions, each null where there are too few rows to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# A 90th percentile needs ten rows beyond it.
ROWS_FOR_P90 = 100


@dataclass(frozen=True)
class Errors:
    """Errors of one group; shares of the measured value."""

    n: int
    median_ape: float
    mean_ape: float
    p90_ape: float | None
    bias: float
    rank_correlation: float | None


def errors(predicted: Sequence[float], measured: Sequence[float]) -> Errors:
    """Errors of predictions against positive measurements, in the same order.

    APE is |predicted - measured| / measured; bias is the median of the signed share.
    """
    guess, truth = np.asarray(predicted, dtype=float), np.asarray(measured, dtype=float)
    signed = guess / truth - 1
    size = np.abs(signed)
    return Errors(
        n=len(truth),
        median_ape=float(np.median(size)),
        mean_ape=float(size.mean()),
        p90_ape=float(np.percentile(size, 90)) if len(truth) >= ROWS_FOR_P90 else None,
        bias=float(np.median(signed)),
        rank_correlation=rank_correlation(guess, truth),
    )


def rank_correlation(left: Any, right: Any) -> float | None:
    """Spearman's rho with ties at their mean rank; null below three rows or where one side is constant."""
    if len(left) < 3:
        return None
    ranks = [_ranks(np.asarray(side, dtype=float)) for side in (left, right)]
    if any(np.ptp(each) == 0 for each in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Any) -> Any:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])
