"""Arrival times: steady, in bursts, by the time of day. Seconds from 0, ordered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pipeline.fleet.workload import Floats, Ints, refuse

DAY_S = 86400.0
_GRID = 4096
"""Points at which a day's rate is added up; a straight line between them errs below 1e-6."""


def poisson(
    rate_per_s: float, duration_s: float | None = None, *, requests: int | None = None, seed: int = 1
) -> Floats:
    """Independent arrivals: exponential gaps.

    Args:
        rate_per_s: mean rate, 1/s.
        duration_s: time they come in, s.
        requests: or how many come.
        seed: of the random numbers.

    Returns:
        float64[requests], s.

    Raises:
        InputError: a rate or duration that is not above zero; both or neither limit.
    """
    return gamma(rate_per_s, 1.0, duration_s, requests=requests, seed=seed)


def gamma(
    rate_per_s: float,
    shape: float,
    duration_s: float | None = None,
    *,
    requests: int | None = None,
    seed: int = 1,
) -> Floats:
    """Gamma gaps: shape 1 is Poisson, below 1 comes in bursts, above 1 is more even.

    The gaps' squared coefficient of variation is 1 / shape. Other arguments as for `poisson`.
    """
    _positive("rate_per_s", rate_per_s)
    _positive("shape", shape)
    rng = np.random.default_rng(seed)
    if requests is not None and duration_s is None:
        _positive("requests", requests)
        return np.cumsum(_gaps(rng, rate_per_s, shape, requests))
    if duration_s is not None and requests is None:
        _positive("duration_s", duration_s)
        return _within(rng, rate_per_s, shape, duration_s)
    return refuse("arrivals need duration_s or requests, one of them")


def _gaps(rng: np.random.Generator, rate: float, shape: float, number: int) -> Floats:
    if shape == 1.0:
        return rng.standard_exponential(number) / rate
    return rng.standard_gamma(shape, number) / (rate * shape)


def _within(rng: np.random.Generator, rate: float, shape: float, duration_s: float) -> Floats:
    """As many gaps as the duration holds."""
    expected = rate * duration_s
    number = int(expected + 6 * math.sqrt(expected / shape) + 16)
    times = np.cumsum(_gaps(rng, rate, shape, number))
    while times[-1] < duration_s:
        times = np.concatenate([times, times[-1] + np.cumsum(_gaps(rng, rate, shape, number))])
    return times[: int(np.searchsorted(times, duration_s))].copy()


def diurnal(
    rates_by_region: Sequence[float],
    duration_s: float,
    *,
    peak_to_mean: float = 1.8,
    phase_hours: Sequence[float] | None = None,
    day_s: float = DAY_S,
    seed: int = 1,
) -> tuple[Floats, Ints]:
    """Poisson arrivals whose rate goes up and down as a cosine over a day, in each region at its own hour.

    Args:
        rates_by_region: mean rate of each region, 1/s.
        duration_s: time they come in, s.
        peak_to_mean: highest over mean rate, 1 (flat) to 2 (nothing at night).
        phase_hours: hour of each region's peak, in one clock; 0 for all by default.
        day_s: length of a day; a shorter one is a day in fast motion.
        seed: of the random numbers.

    Returns:
        float64 arrival times (s) and int32 regions, ordered by time.
    """
    _positive("duration_s", duration_s)
    _positive("day_s", day_s)
    if not 1 <= peak_to_mean <= 2:
        refuse(f"peak_to_mean is {peak_to_mean}", next_step="give 1 to 2")
    phases = [0.0] * len(rates_by_region) if phase_hours is None else list(phase_hours)
    if len(phases) != len(rates_by_region):
        refuse(f"{len(phases)} phases for {len(rates_by_region)} regions")
    rng = np.random.default_rng(seed)
    parts = [
        _one_region(rng, rate, duration_s, day_s, (peak_to_mean - 1, phase))
        for rate, phase in zip(rates_by_region, phases, strict=True)
    ]
    times = np.concatenate(parts)
    regions = np.repeat(np.arange(len(parts), dtype=np.int32), [part.size for part in parts])
    order = np.argsort(times, kind="stable")
    return times[order], regions[order]


def _one_region(
    rng: np.random.Generator, rate: float, duration_s: float, day_s: float, wave: tuple[float, float]
) -> Floats:
    """Arrivals of one region: even ones, moved to where the rate's integral takes their value."""
    _positive("rates_by_region", rate)
    swing, phase = wave
    clock = np.linspace(0, duration_s, max(_GRID, int(_GRID * duration_s / day_s)))
    turn, shift = 2 * math.pi / day_s, 2 * math.pi * phase / 24
    total = rate * (clock + swing * (np.sin(turn * clock - shift) + math.sin(shift)) / turn)
    number = int(rng.poisson(total[-1]))
    return np.sort(np.interp(rng.random(number) * total[-1], total, clock))


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        refuse(f"{name} is {value}", next_step="give a finite number above zero")
