"""Whiteboard arithmetic: safe, exact, and shown as one writes it."""

from __future__ import annotations

import pytest

from pipeline.schemas.question import CalcSpec
from pipeline.site.expression import BadExpression, evaluate, names, shown
from pipeline.site.formulas import FORMULAS
from pipeline.site.whiteboard import Quantity, given_quantity, line_html, work_out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * 3 + 4", 10),
        ("2 * (3 + 4)", 14),
        ("ceil(7 / 2)", 4),
        ("max(1, x) - min(1, x)", 4),
        ("2 ** 10", 1024),
    ],
)
def test_evaluate(text: str, value: float) -> None:
    assert evaluate(text, {"x": 5}) == value


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "x.real", "[1]", "open('f')", "1 if 1 else 2", "lambda: 1", "'a' * 3", "max(x=1)"],
)
def test_nothing_but_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(BadExpression):
        evaluate(text, {"x": 1})


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(BadExpression, match="'y' has no value"):
        evaluate("x + y", {"x": 1})
    with pytest.raises(BadExpression, match="divides by zero"):
        evaluate("1 / x", {"x": 0})
    with pytest.raises(BadExpression, match="is not arithmetic"):
        evaluate("1 +", {})


@pytest.mark.parametrize("text", ["(a - b) / a", "a - (b - c)", "a / (b * c)", "(a + b) * c", "a - b - c"])
def test_shown_keeps_the_brackets_that_matter(text: str) -> None:
    written = {name: name for name in names(text)}
    assert shown(text, written).replace("−", "-").replace("×", "*") == text


# Worked by hand, apart from the code.
KNOWN = {
    "tpot": 10.0,  # (1,340 - 70) / 127
    "kv_bytes_per_token": 131_072,  # 2 x 32 x 8 x 128 x 2
    "kv_pool_tokens": 8_192,
    "prefix_working_set": 12_288,
    "hit_rate": 0.905846,
    "hit_ceiling": 0.905846,  # 138 / 150 x 1,024 / 1,040
    "concurrency": 30.0,
    "imbalance": 1.12,  # 84 / 75
    "transfer_time": 2.62144,  # 131,072,000 B at 50 GB/s
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula_gives_the_value_worked_by_hand(name: str) -> None:
    formula = FORMULAS[name]
    assert formula.value(**formula.example) == pytest.approx(KNOWN[name], rel=1e-5)
    assert set(names(formula.expression)) == set(formula.inputs)


def test_given_number_keeps_its_unit() -> None:
    quantity = given_quantity("4,096 tokens")
    assert quantity is not None
    assert (quantity.value, quantity.unit) == (4096, "tokens")
    assert given_quantity("tokens 5") is None


def test_line_compares_and_says_missing() -> None:
    spec = CalcSpec(
        formula="a * b", inputs={"a": "a", "b": "b"}, title="product", unit="tokens", format="integer"
    )
    given = {"a": Quantity(3, "", "3"), "b": Quantity(4, "", "4")}
    html = line_html("p", work_out(spec, given), Quantity(10, "tokens", "10 tokens"), "too many")
    assert "3 × 4 = <b>12\N{NO-BREAK SPACE}tokens</b>" in html
    assert "&gt; 10 tokens" in html
    missing = work_out(spec, given | {"b": Quantity(None, "", "n/a")})
    assert missing.result.html == "n/a"


def test_line_refuses_inputs_it_lacks_or_does_not_use() -> None:
    spec = CalcSpec(formula="hit_rate", inputs={"cached_tokens": "a"})
    with pytest.raises(BadExpression, match="needs prompt_tokens"):
        work_out(spec, {"cached_tokens": Quantity(1, "", "1")})
    extra = {
        "cached_tokens": Quantity(1, "", ""),
        "prompt_tokens": Quantity(2, "", ""),
        "z": Quantity(1, "", ""),
    }
    with pytest.raises(BadExpression, match="does not use z"):
        work_out(spec, extra)
