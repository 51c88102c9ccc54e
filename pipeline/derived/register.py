"""The register of formulas: each a pure function with unit and source; the documentation lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Formula:
    """A formula as the documentation prints it.

    Attributes:
        name: name of the function.
        meaning: first sentence of its docstring.
        expression: the arithmetic in words.
        unit: unit of the result.
        source: where the rule is from.
    """

    name: str
    meaning: str
    expression: str
    unit: str
    source: str


FORMULAS: dict[str, Formula] = {}


def formula(expression: str, unit: str, source: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Enter a function in the register."""

    def enter(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        meaning = (function.__doc__ or "").strip().split("\n")[0]
        FORMULAS[name] = Formula(name, meaning, expression, unit, source)
        return function

    return enter
