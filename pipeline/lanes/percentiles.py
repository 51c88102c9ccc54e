"""Percentiles, only where enough observations lie beyond them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

BEYOND = 10


def percentile_or_none(values: Iterable[float | None], percent: float) -> float | None:
    """The percentile by linear interpolation, or None when fewer than ten observations lie beyond it.

    So p50 needs 20 values, p90 100 and p99 1,000. Missing values are left out, never taken as zero.
    """
    known = [value for value in values if value is not None]
    if round(len(known) * min(percent, 100 - percent) / 100, 9) < BEYOND:
        return None
    return float(np.percentile(known, percent))


def mean_or_none(values: Iterable[float | None]) -> float | None:
    """The mean of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
