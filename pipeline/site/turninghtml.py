"""What would turn a verdict, in words and as a table; on question pages and in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from pipeline.schemas.turning import ClaimSplit, ClaimThreshold
from pipeline.site.claims import Standing
from pipeline.site.html import one_block, table
from pipeline.site.numbers import interval, written

PROPOSED = 2
"""At most so many other columns are proposed for a cut."""
MARKS = {"for": "for it", "against": "against it", "undecided": "no difference"}


def thresholds(standings: Sequence[Standing], address: str) -> str:
    """What would flip each verdict of a page.

    Args:
        standings: claims of the page.
        address: of the claim ledger.
    """
    items = "".join(f'<li><a href="{address}#{s.id}">{s.id}</a> {flip_words(s)}</li>' for s in standings)
    return one_block(f'<ul class="wb-thresholds">{items}</ul>')


def flip_words(standing: Standing) -> str:
    """What would flip one verdict: the cut of a verdict that depends, else its nearest point."""
    if standing.verdict in ("reported", "definition"):
        return f"is {standing.verdict}; no measurement can flip it."
    if standing.verdict == "not measured":
        return f"is not measured yet; {', '.join(standing.lanes)} could settle it."
    if standing.verdict == "depends":
        return " ".join(_depends(standing))
    near = nearest(standing.turns)
    return f"{standing.verdict}. {turn_words(near) if near else 'No value would turn it.'}"


def nearest(turns: Sequence[ClaimThreshold]) -> ClaimThreshold | None:
    """The point that turns first: the least distance as a share of where it turns."""
    known = [turn for turn in turns if turn.away is not None and turn.says != "undecided"]
    return min(known, key=_share_away, default=None)


def turn_words(turn: ClaimThreshold) -> str:
    """`TPOT over TPOT at 1 in flight (4 in flight): 2.10; the verdict turns where it falls to 1.05.`"""
    way = "falls to" if (turn.away or 0.0) < 0 else "rises to"
    crossed = " Its interval already reaches there." if turn.straddles else ""
    quantity = escape(turn.quantity[:1].upper() + turn.quantity[1:])
    return (
        f"{quantity} ({escape(turn.point)}): {_number(turn.value, turn.unit)}; "
        f"the verdict turns where it {way} {_number(turn.turns_at, turn.unit)}.{crossed}"
    )


def points_table(turns: Sequence[ClaimThreshold]) -> str:
    """Every point that decided: value, interval, what it says, and where it would turn."""
    rows = [
        [
            escape(turn.point),
            written(turn.value, "number", turn.unit),
            interval(turn.low, turn.high, "number", turn.unit),
            str(turn.n_independent),
            MARKS[turn.says],
            written(turn.turns_at, "number", turn.unit),
        ]
        for turn in turns
    ]
    heads = ["Point", "Value", "Interval", "n", "Speaks", "Turns at"]
    return table(heads, rows, (1, 2, 3, 5))


def _depends(standing: Standing) -> Iterator[str]:
    on = escape(standing.dimension or "what is compared")
    own = next((cut for cut in standing.splits if cut.named), None)
    others = [cut for cut in standing.splits if not cut.named][:PROPOSED]
    yield f"depends on {on}. {cut_words(own) if own else _sides(standing.turns)}"
    if others:
        yield f"What parts the points better: {'; '.join(_other(cut) for cut in others)}."


def _sides(turns: Sequence[ClaimThreshold]) -> str:
    """Which points speak for the claim and which against it, where no cut is known."""
    named = [
        f"{word} it: {', '.join(escape(turn.point) for turn in turns if turn.says == says)}"
        for says, word in (("for", "For"), ("against", "against"))
    ]
    return f"{'; '.join(named)}." if turns else "The sources disagree."


def cut_words(cut: ClaimSplit) -> str:
    """`It holds up to 4 in flight and fails from 16 on; the threshold lies near 4.14.`"""
    if cut.cut_text is not None:
        words = f"It {_says(cut.verdict_inside)} for {escape(cut.cut_text)} and {_says(cut.verdict_outside)} otherwise"
    else:
        low, high = _number(cut.cut_low, cut.unit), _number(cut.cut_high, cut.unit)
        words = f"It {_says(cut.verdict_inside)} up to {low} and {_says(cut.verdict_outside)} from {high}"
        words += f"; the flip lies near {_number(cut.turns_near, cut.unit)}" if cut.turns_near is not None else ""
    return f"{words}{_misplaced(cut)}."


def _other(cut: ClaimSplit) -> str:
    where = escape(cut.cut_text) if cut.cut_text is not None else f"up to {_number(cut.cut_low, cut.unit)}"
    return f"{escape(cut.dimension)} ({_says(cut.verdict_inside)}: {where}){_misplaced(cut)}"


def _misplaced(cut: ClaimSplit) -> str:
    return f", with {cut.misplaced} of {cut.points} points on the wrong side" if cut.misplaced else ""


def _says(verdict: str) -> str:
    return verdict if verdict in ("holds", "fails") else f"is {verdict}"


def _number(value: float | None, unit: str) -> str:
    return written(value, "number", unit)


def _share_away(turn: ClaimThreshold) -> float:
    scale = max(abs(turn.turns_at or 0.0), abs(turn.value)) or 1.0
    return abs(turn.away or 0.0) / scale


