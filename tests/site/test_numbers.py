"""How numbers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.schemas.question import Style
from pipeline.site.html import aligned
from pipeline.site.numbers import interval, significant, written


@pytest.mark.parametrize(
    ("value", "style", "unit", "text"),
    [
        (12288, "integer", "tokens", "12,288 tokens"),
        (0.90471, "percent", "", "90.5 %"),
        (0.6, "percent", "", "60.0 %"),
        (0.99996, "percent", "", "100 %"),
        (0, "percent", "", "0 %"),
        (1, "percent", "", "100 %"),
        (2.4984, "times", "", "2.50×"),
        (0.0905, "number", "", "0.0905"),
        (0.99996, "number", "", "1.00"),
        (1638.4, "number", "ms", "1,638 ms"),
        (9.55, "number", "ms", "9.55 ms"),
        (-0.25, "number", "", "-0.250"),
        (None, "number", "ms", "n/a"),
        (float("nan"), "integer", "ms", "n/a"),
    ],
)
def test_written(value: float | None, style: Style, unit: str, text: str) -> None:
    assert written(value, style, unit).replace("\N{NO-BREAK SPACE}", " ") == text


@given(st.floats(min_value=1e-6, max_value=1e9, allow_nan=False))
def test_three_digits_are_never_further_off_than_half_a_percent(value: float) -> None:
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


def test_interval_says_its_unit_once() -> None:
    assert interval(0.903, 0.905, "percent").replace("\N{NO-BREAK SPACE}", " ") == "90.3 to 90.5 %"
    assert interval(3, 3, "integer", "ms").replace("\N{NO-BREAK SPACE}", " ") == "3 ms"
    assert interval(None, 3, "integer") == "n/a"


def test_columns_line_up_on_the_decimal_point() -> None:
    figure, point = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
    assert aligned(["0.905", "12", "n/a", "1.5"]) == [
        "0.905",
        f"12{point}{figure * 3}",
        "n/a",
        f"1.5{figure * 2}",
    ]
