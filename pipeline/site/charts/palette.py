"""Colours with one meaning everywhere (Okabe-Ito), each tied to a CSS variable of both themes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INK, MUTED, GRID, HALO = "#1d2430", "#5c6674", "#e3e7ec", "#fefefe"


@dataclass(frozen=True)
class Hue:
    """A colour for marks and a darker one of the same hue for text, as the light theme shows them."""

    name: str
    mark: str
    text: str


BLUE = Hue("blue", "#0072B2", "#00568a")
VERMILION = Hue("vermilion", "#D55E00", "#a34600")
GREEN = Hue("green", "#009E73", "#00694c")
GREY = Hue("grey", "#8a8f98", "#5d636d")
SKY = Hue("sky", "#56B4E9", "#1a6fa3")
ORANGE = Hue("orange", "#E69F00", "#875c00")
PURPLE = Hue("purple", "#CC79A7", "#96416f")
HUES = (BLUE, VERMILION, GREEN, GREY, SKY, ORANGE, PURPLE)

# A name that is not here takes the next free hue of `_REST`.
FIXED = {
    "vllm": BLUE,
    "tensorrt-llm": VERMILION,
    "cache_aware": GREEN,
    "round_robin": GREY,
    "power_of_two": SKY,
    "consistent_hash": ORANGE,
    "random": PURPLE,
    "tensorrt_llm": VERMILION,
    # What wins in a cell of a grid.
    "routing": GREEN,
    "memory": ORANGE,
    "neither": GREY,
    "overload": PURPLE,
    # Whether a limit is kept there: "holds, within 10 ms".
    "holds": GREEN,
    "fails": ORANGE,
}
_REST = (BLUE, SKY, ORANGE, PURPLE, GREEN)


def hues(names: list[str]) -> dict[str, Hue]:
    """A hue for every series name, the fixed ones first."""
    free = iter(_REST * (1 + len(names) // len(_REST)))
    return {name: FIXED.get(_base(name)) or next(free) for name in names}


def _base(name: str) -> str:
    """`cache-aware, engine silent` keeps the colour of cache_aware."""
    return name.partition(",")[0].replace(" ", "_").replace("-", "_") if name not in FIXED else name


def variables() -> dict[str, str]:
    """Light colour to the CSS variable that replaces it in the page."""
    ground = {INK: "ink", MUTED: "muted", GRID: "grid", HALO: "page"}
    marks = {hue.mark: f"m-{hue.name}" for hue in HUES}
    texts = {hue.text: f"t-{hue.name}" for hue in HUES}
    return {colour: f"var(--wb-{name})" for colour, name in (ground | marks | texts).items()}


def themed(text: str) -> str:
    """Replace every colour of the palette by its variable, in a picture or a specification."""
    for colour, variable in variables().items():
        text = text.replace(colour, variable)
    return text


def config(size: int) -> dict[str, Any]:
    """The look of all charts: no frame, horizontal grid only, system fonts."""
    font = "system-ui, sans-serif"
    return {
        "background": "transparent",
        "aria": False,
        "font": font,
        "view": {"stroke": None},
        "axis": {
            "labelColor": MUTED,
            "titleColor": MUTED,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
            "labelFontSize": size - 1,
            "titleFontSize": size - 1,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
    }
