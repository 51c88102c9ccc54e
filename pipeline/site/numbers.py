"""How numbers are written: three significant digits, thin groups, n/a for missing."""

from __future__ import annotations

import math

from pipeline.schemas.question import Style
from pipeline.site.words import NO_VALUE

NBSP = "\N{NO-BREAK SPACE}"
DIGITS = 3


def written(value: float | None, style: Style = "number", unit: str = "") -> str:
    r"""The number as a reader sees it, with its unit; `n/a` where it is missing.

    >>> written(12288, "integer", "tokens")
    '12,288\xa0tokens'
    >>> written(0.9047, "percent")
    '90.5\xa0%'
    """
    if value is None or not math.isfinite(value):
        return NO_VALUE
    # Adding zero turns a negative zero into zero.
    text = _STYLES[style](value + 0.0)
    return f"{text}{NBSP}{unit}" if unit else text


def significant(value: float, digits: int = DIGITS) -> str:
    """Rounded to significant digits, grouped, without an exponent; integers above that keep their digits.

    >>> significant(0.09047), significant(1638.4), significant(2)
    ('0.0905', '1,638', '2')
    """
    return f"{round(value):,}" if float(value).is_integer() else _rounded(value, digits)


def interval(low: float | None, high: float | None, style: Style, unit: str = "") -> str:
    """`low to high`, one number if they are written alike, `n/a` if either is missing."""
    if low is None or high is None:
        return NO_VALUE
    first, last = written(low, style, unit), written(high, style, unit)
    return last if first == last else f"{written(low, style).removesuffix(f'{NBSP}%')} to {last}"


def _rounded(value: float, digits: int = DIGITS) -> str:
    rounded = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{round(value):,}" if places <= 0 else f"{rounded:,.{places}f}"


def _integer(value: float) -> str:
    return f"{round(value):,}"


def _percent(value: float) -> str:
    """Three digits also where they end in zero, so that a column of shares lines up."""
    share = value * 100
    return f"{share:,.0f}{NBSP}%" if abs(share) >= 100 or share == 0 else f"{_rounded(share)}{NBSP}%"


def _times(value: float) -> str:
    return f"{significant(value)}×"


_STYLES = {"integer": _integer, "number": significant, "percent": _percent, "times": _times}
