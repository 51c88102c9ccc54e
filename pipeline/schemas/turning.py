"""What would turn a verdict: how far each deciding value is from its threshold, and what parts the data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import Lane

Says = Literal["for", "against", "undecided"]


class ClaimThreshold(Strict):
    """A row of the view `claim_thresholds`: one point that a verdict was decided by."""

    id: str = Field(description="claim")
    lane: Lane = Field(description="evidence lane that decided")
    quantity: str = Field(description="what value is, in words")
    point: str = Field(description="point of the evidence")
    value: float = Field(description="median of the point")
    low: float | None = Field(description="smallest repeat, or lower end of the interval")
    high: float | None = Field(description="largest repeat, or upper end of the interval")
    unit: str = Field(description="unit of value, low, high, threshold, turns_at and away")
    n_independent: int = Field(description="repeats or sweeps behind the point")
    says: Says = Field(description="for the claim, against it, or undecided (inside the noise band)")
    rule: str = Field(description="above, below, at least or at most: the threshold speaks for the claim")
    threshold: float = Field(description="threshold of the rule")
    turns_at: float | None = Field(
        description="nearest value at which the point would speak otherwise, the noise band counted in; "
        "null where no value would"
    )
    away: float | None = Field(description="turns_at less value")
    straddles: bool = Field(description="turns_at lies between low and high")


class ClaimSplit(Strict):
    """A row of the view `claim_splits`: a cut that parts the points of a verdict that depends."""

    id: str = Field(description="claim")
    dimension: str = Field(description="what is cut: the claim's own dimension, or another column")
    named: bool = Field(description="it is the dimension that the claim file names")
    better: bool = Field(description="it parts the points better than the named dimension does")
    gain_bits: float = Field(description="information gain of the cut, bits")
    cut_text: str | None = Field(description="the value that stands alone, null for a number")
    cut_low: float | None = Field(description="largest number on the first side, null for a text")
    cut_high: float | None = Field(description="smallest number on the other side, null for a text")
    turns_near: float | None = Field(description="where the quantity meets its threshold, by interpolation")
    unit: str = Field(description="unit of cut_low, cut_high and turns_near")
    verdict_inside: str = Field(description="verdict of the group, or up to cut_low")
    verdict_outside: str = Field(description="verdict of all others")
    misplaced: int = Field(description="points on the wrong side of the cut")
    points: int = Field(description="points that carry the column")
