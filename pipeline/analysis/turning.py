"""What would turn a verdict: thresholds of its points, and the cuts that part them where it depends."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.analysis.decisions import Decision, Judged
from pipeline.analysis.rules import Point, Side, turns_at
from pipeline.analysis.splits import NAMED, Placed, Split, splits
from pipeline.schemas.claim import Claim
from pipeline.schemas.turning import ClaimSplit, ClaimThreshold


def thresholds(claim: Claim, decided: Decision) -> list[ClaimThreshold]:
    """One row for each point that decided, in the order of the claim file."""
    return [
        _threshold(claim.id, judged, point, says)
        for judged in decided.judged
        for point, says in zip(judged.points, judged.sides, strict=True)
    ]


def dimension_splits(claim: Claim, decided: Decision) -> list[ClaimSplit]:
    """Cuts of a verdict that depends: the claim's own dimension first, then what parts the data better."""
    if decided.dimension is None or decided.dimension != claim.dimension:
        return []
    found = splits(list(_placed(decided)))
    own = next((cut for cut in found if cut.column == NAMED), None)
    least = own.gain if own else 0.0
    better = [cut for cut in found if cut.column != NAMED and cut.gain > least + 1e-9]
    return [_split(claim, cut, own=own is cut) for cut in ([own] if own else []) + better]


def _placed(decided: Decision) -> Iterator[Placed]:
    for judged in decided.judged:
        for point, says in zip(judged.points, judged.sides, strict=True):
            if says != "undecided":
                yield Placed(point, says, turns_at(judged.block.rule, point, judged.band))


def _threshold(claim: str, judged: Judged, point: Point, says: Side) -> ClaimThreshold:
    block = judged.block
    turn = turns_at(block.rule, point, judged.band)
    known = turn is not None and point.low is not None and point.high is not None
    return ClaimThreshold(
        id=claim,
        lane=block.lane,
        quantity=block.quantity,
        point=point.name,
        value=point.value,
        low=point.low,
        high=point.high,
        unit=block.unit,
        n_independent=point.n,
        says=says,
        rule=block.rule.when,
        threshold=block.rule.threshold,
        turns_at=turn,
        away=None if turn is None else turn - point.value,
        straddles=known and point.low <= turn <= point.high,  # type: ignore[operator]
    )


def _split(claim: Claim, cut: Split, *, own: bool) -> ClaimSplit:
    verdicts = {"for": claim.if_true, "against": claim.if_false}
    name = claim.dimension if own and claim.dimension else cut.column.replace("_", " ")
    return ClaimSplit(
        id=claim.id,
        dimension=name,
        named=own,
        better=not own,
        gain_bits=cut.gain,
        cut_text=cut.group,
        cut_low=cut.last,
        cut_high=cut.first,
        turns_near=cut.at,
        unit=claim.dimension_unit if own else "",
        verdict_inside=verdicts[cut.inside],
        verdict_outside=verdicts[cut.outside],
        misplaced=cut.misplaced,
        points=cut.points,
    )
