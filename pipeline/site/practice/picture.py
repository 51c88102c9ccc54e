"""A design as boxes and arrows: SVG drawn here, wide and narrow, in the colours of the theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape

from pipeline.schemas.sheet import Arrow, Box, Picture
from pipeline.site.html import one_block

Plain = Callable[[str], str]
"""Puts facts in the place of {name}, without mark-up."""
BOX_WIDTH, GAP_X, GAP_Y, LINE, HEAD, PAD = 190, 56, 46, 17, 24, 10
NARROW_WIDTH = 330
Place = tuple[float, float, float, float]
"""Left, top, width and height of a box, in units of the picture."""


def picture(name: str, spec: Picture, plain: Plain) -> str:
    """The picture with its words as a list behind it.

    Args:
        name: of the picture on its page.
        spec: boxes and arrows.
        plain: fills {fact} into texts.
    """
    texts = {key: tuple(plain(line) for line in box.lines) for key, box in spec.boxes.items()}
    wide, narrow = _wide(spec.boxes, texts), _narrow(spec.boxes, texts)
    drawings = (
        f'<div class="wb-plot wide">{_svg(spec, wide, texts, plain)}</div>'
        f'<div class="wb-plot narrow">{_svg(spec, narrow, texts, plain)}</div>'
    )
    return one_block(
        f'<figure class="wb-chart wb-picture" id="picture-{name.replace("_", "-")}">'
        f"<figcaption><b>{escape(plain(spec.title))}</b></figcaption>{drawings}{_words(spec, texts, plain)}</figure>"
    )


def _height(lines: tuple[str, ...]) -> float:
    return HEAD + PAD + LINE * len(lines) + (PAD if lines else 0)


def _wide(boxes: Mapping[str, Box], texts: Mapping[str, tuple[str, ...]]) -> dict[str, Place]:
    """Boxes on a grid; a row is as high as its highest box."""
    rows = sorted({box.row for box in boxes.values()})
    heights = {row: max(_height(texts[key]) for key, box in boxes.items() if box.row == row) for row in rows}
    tops = {row: sum(heights[above] + GAP_Y for above in rows if above < row) + 1 for row in rows}
    return {
        key: ((box.column - 1) * (BOX_WIDTH + GAP_X) + 1, tops[box.row], BOX_WIDTH, _height(texts[key]))
        for key, box in boxes.items()
    }


def _narrow(boxes: Mapping[str, Box], texts: Mapping[str, tuple[str, ...]]) -> dict[str, Place]:
    """Boxes below each other, in the order of the page."""
    places, top = {}, 1.0
    for key in boxes:
        places[key] = (20.0, top, float(NARROW_WIDTH - 40), _height(texts[key]))
        top += _height(texts[key]) + GAP_Y
    return places


def _svg(
    spec: Picture, places: Mapping[str, Place], texts: Mapping[str, tuple[str, ...]], plain: Plain
) -> str:
    width = max(left + wide for left, _, wide, _ in places.values()) + 21
    height = max(top + high for _, top, _, high in places.values()) + 1
    boxes = "".join(_box(box, places[key], texts[key]) for key, box in spec.boxes.items())
    arrows = "".join(_arrow(arrow, places, plain) for arrow in spec.arrows)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(plain(spec.title))}">'
        f"{arrows}{boxes}</svg>"
    )


def _box(box: Box, place: Place, lines: tuple[str, ...]) -> str:
    left, top, width, height = place
    rows = "".join(
        f'<text class="wb-p-line" x="{left + PAD:g}" y="{top + HEAD + LINE * (i + 1):g}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<rect class="wb-p-box" x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        f'<text class="wb-p-title" x="{left + PAD:g}" y="{top + HEAD - 4:g}">{escape(box.title)}</text>{rows}'
    )


def _arrow(arrow: Arrow, places: Mapping[str, Place], plain: Plain) -> str:
    """A line between the nearest sides, its head a triangle, its label beside its middle."""
    if _passes(arrow, places):
        return _around(places[arrow.source], places[arrow.target])
    (x1, y1), (x2, y2) = _ends(places[arrow.source], places[arrow.target])
    upright = abs(y2 - y1) >= abs(x2 - x1)
    down, right = (1 if y2 > y1 else -1), (1 if x2 > x1 else -1)
    head = (
        f"{x2 - 4:g},{y2 - 8 * down:g} {x2 + 4:g},{y2 - 8 * down:g} {x2:g},{y2:g}"
        if upright
        else f"{x2 - 8 * right:g},{y2 - 4:g} {x2 - 8 * right:g},{y2 + 4:g} {x2:g},{y2:g}"
    )
    middle_x, middle_y = (x1 + x2) / 2, (y1 + y2) / 2
    at = (middle_x + 8, middle_y + 4, "start") if upright else (middle_x, middle_y - 7, "middle")
    label = (
        f'<text class="wb-p-label" x="{at[0]:g}" y="{at[1]:g}" text-anchor="{at[2]}">'
        f"{escape(plain(arrow.label))}</text>"
        if arrow.label
        else ""
    )
    return (
        f'<line class="wb-p-arrow" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'
        f'<polygon class="wb-p-head" points="{head}"/>{label}'
    )


def _passes(arrow: Arrow, places: Mapping[str, Place]) -> bool:
    """Whether a third box stands between two boxes of one column."""
    (left, top, _, _), (other, below, _, _) = places[arrow.source], places[arrow.target]
    between = (place[1] for place in places.values() if place[0] == left)
    return left == other and any(min(top, below) < y < max(top, below) for y in between)


def _around(source: Place, target: Place) -> str:
    """An arrow along the left edge, past the boxes between; what goes along it is told in words below."""
    left, start, end = source[0], source[1] + source[3] / 2, target[1] + HEAD / 2
    aside = left - 12
    path = f"{left:g},{start:g} {aside:g},{start:g} {aside:g},{end:g} {left:g},{end:g}"
    head = f"{left - 8:g},{end - 4:g} {left - 8:g},{end + 4:g} {left:g},{end:g}"
    return f'<polyline class="wb-p-arrow" points="{path}"/><polygon class="wb-p-head" points="{head}"/>'


def _ends(source: Place, target: Place) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where an arrow leaves one box and reaches the other: through facing sides."""
    (sx, sy, sw, sh), (tx, ty, tw, th) = source, target
    if ty >= sy + sh or sy >= ty + th:
        shared = max(sx, tx) + min(sx + sw, tx + tw)
        x = (shared / 2, shared / 2) if _overlap(sx, sw, tx, tw) else (sx + sw / 2, tx + tw / 2)
        return ((x[0], sy + sh), (x[1], ty)) if ty >= sy + sh else ((x[0], sy), (x[1], ty + th))
    y = (max(sy, ty) + min(sy + sh, ty + th)) / 2
    return ((sx + sw, y), (tx, y)) if tx >= sx + sw else ((sx, y), (tx + tw, y))


def _overlap(a: float, wide_a: float, b: float, wide_b: float) -> bool:
    return max(a, b) < min(a + wide_a, b + wide_b)


def _words(spec: Picture, texts: Mapping[str, tuple[str, ...]], plain: Plain) -> str:
    items = "".join(f"<li>{line}</li>" for line in _told(spec, texts, plain))
    return f'<details class="wb-data"><summary>In words</summary><ul>{items}</ul></details>'


def _told(spec: Picture, texts: Mapping[str, tuple[str, ...]], plain: Plain) -> Iterator[str]:
    for key, box in spec.boxes.items():
        lines = f": {escape('; '.join(texts[key]))}" if texts[key] else ""
        yield f"<b>{escape(box.title)}</b>{lines}"
    for arrow in spec.arrows:
        label = f": {escape(plain(arrow.label))}" if arrow.label else ""
        yield f"{escape(spec.boxes[arrow.source].title)} to {escape(spec.boxes[arrow.target].title)}{label}"
