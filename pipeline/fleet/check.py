"""One comparison of the simulator with something that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Check:
    """A line of the validation table.

    Args:
        check: what is compared.
        setting: load, size, policy.
        expected: value that is known.
        measured: value that the simulator gives.
        low: lower end of its 95 % interval, None where there is no chance in it.
        high: upper end.
        gap: measured over expected less one; the difference where `absolute`.
        tolerance: largest gap that passes; None where the gap is only reported.
        passed: whether it does; None where it is only reported.
        source: where the expected value is from.
        note: what the reader must know of the gap.
    """

    check: str
    setting: str
    expected: float
    measured: float
    low: float | None
    high: float | None
    gap: float
    tolerance: float | None
    passed: bool | None
    source: str
    note: str = ""


def compared(  # noqa: PLR0913
    names: tuple[str, str],
    expected: float,
    measured: float,
    tolerance: float | None,
    source: str,
    *,
    spread: float | None = None,
    absolute: bool = False,
    note: str = "",
) -> Check:
    """A line from its two values.

    Args:
        names: check and setting.
        expected: known value.
        measured: the simulator's.
        tolerance: largest gap that passes, None to report only.
        source: of the known value.
        spread: half-width of the measured value's 95 % interval.
        absolute: the gap is a difference, not a ratio.
        note: see `Check`.
    """
    gap = measured - expected if absolute else measured / expected - 1
    return Check(
        *names,
        expected=expected,
        measured=measured,
        low=None if spread is None else measured - spread,
        high=None if spread is None else measured + spread,
        gap=gap,
        tolerance=tolerance,
        passed=None if tolerance is None else bool(abs(gap) <= tolerance),
        source=source,
        note=note,
    )


def half_width(means: Sequence[float]) -> float:
    """Half-width of the 95 % interval of the mean of independent means (normal, so give twenty or more)."""
    values = np.asarray(means, np.float64)
    return float(1.96 * values.std(ddof=1) / math.sqrt(values.size))
