"""A safe evaluator for whiteboard arithmetic: numbers, names, + - * / **, brackets, min, max, ceil, floor."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

BINARY: dict[type[ast.operator], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("−", operator.sub),
    ast.Mult: ("×", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("^", operator.pow),
}
FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}
_RANK = {"+": 1, "−": 1, "×": 2, "/": 2, "^": 3}


class BadExpression(ValueError):
    """A formula that cannot be read or evaluated."""


def names(text: str) -> list[str]:
    """Names the formula needs, in order of appearance."""
    found = (node.id for node in ast.walk(_parse(text)) if isinstance(node, ast.Name))
    return [name for name in dict.fromkeys(found) if name not in FUNCTIONS]


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """The formula's value.

    Raises:
        BadExpression: it cannot be read, a name has no value, or it divides by zero.
    """
    try:
        return float(_value(_parse(text), values))
    except ZeroDivisionError:
        raise BadExpression(f"{text} divides by zero") from None


def shown(text: str, written: Mapping[str, str]) -> str:
    """The formula as written on a board, each name replaced by its text.

    >>> shown("(a - b) / a", {"a": "150", "b": "12"})
    '(150 − 12) / 150'
    """
    return _shown(_parse(text), written)


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise BadExpression(f"{text!r} is not arithmetic") from None


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            return BINARY[type(op)][1](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(arg, values) for arg in args))
        case ast.Name(id=name):
            raise BadExpression(f"{name!r} has no value")
    raise BadExpression(f"{ast.unparse(node)} is not allowed in a formula")


def _shown(node: ast.expr, written: Mapping[str, str], above: int = 0, right: bool = False) -> str:
    match node:
        case ast.Constant(value=number):
            return f"{number:,}" if isinstance(number, int | float) else str(number)
        case ast.Name(id=name):
            return written.get(name, name)
        case ast.BinOp(left, op, second) if type(op) in BINARY:
            sign = BINARY[type(op)][0]
            rank = _RANK[sign]
            inner = f"{_shown(left, written, rank)} {sign} {_shown(second, written, rank, True)}"
            needs = rank < above or (right and rank == above)
            return f"({inner})" if needs else inner
        case ast.Call(func=ast.Name(id=name), args=args):
            return f"{name}({', '.join(_shown(arg, written) for arg in args)})"
    raise BadExpression(f"{ast.unparse(node)} is not allowed in a formula")
