"""A claim as a person writes it down, and the verdict that data give on it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored, Strict
from pipeline.schemas.words import Freshness, Lane, Outcome, Topic

Kind = Literal[
    "mechanism",
    "sign",
    "shape",
    "absolute",
    "policy_counts",
    "policy_latency",
    "engine_vs_engine",
    "memory_breakdown",
    "scale",
    "arithmetic",
]
"""What a block of evidence shows. Which lane may show what is in `pipeline.analysis.authority`.

mechanism: what happens and how often; sign: that a change goes beyond noise, and which way; shape: over
batch or length; absolute: a level of latency, throughput, memory or cost; policy_counts: routing policies by
hit rate and balance; policy_latency: routing policies by latency; scale: a fleet; arithmetic: bytes, fit,
bounds, price lists.
"""


class Noise(Authored):
    """The A/A band that a difference must leave before it counts."""

    experiment: str = Field(description="experiment whose twins give the band")
    metric: str = Field(description="column of observations that the value is made of")
    relative: bool = Field(
        description="the band is a share of the value (for ratios), else in the metric's unit"
    )
    no_difference: float = Field(
        description="value that means no difference: 0 for differences, 1 for ratios"
    )
    inside: Literal["true", "false", "undecided"] = Field(
        description="what a point inside the band says about the claim"
    )


class Rule(Authored):
    """When a point of evidence speaks for the claim; otherwise it speaks against it."""

    when: Literal["above", "below", "at least", "at most"]
    threshold: float
    noise: Noise | None = Field(None, description="required on measured lanes")


class Evidence(Authored):
    """One query on one lane. All blocks of a lane decide together; lanes go first to last."""

    lane: Lane
    kind: Kind
    quantity: str = Field(min_length=8, description="what `value` is, in words")
    unit: str = Field("", description="unit of `value`, empty for a share or a ratio")
    experiments: tuple[str, ...] = Field((), description="experiments read, for date and versions")
    points: int = Field(1, ge=1, description="points that must be there before the block decides")
    headline: str | None = Field(None, description="point shown as the verdict's value; the first if unset")
    sql: str = Field(
        min_length=8,
        description="one row for each independent unit (repeat, sweep): columns point, value; "
        "computed lanes may add low and high; any lane may add dated (day), versions (text), "
        "dimension_value (where the point lies on the claim's dimension) and other columns that may part it",
    )
    rule: Rule


class Claim(Authored):
    """One file in `data/claims`."""

    id: str = Field(pattern=r"^[MR]\d\d$", description="stable name; pages and ledger refer to it")
    topic: Topic
    source: Literal["A", "B", "contributed"] = Field(
        description="which of the two source articles makes it, or contributed"
    )
    claim: str = Field(min_length=8, description="what is said, in our own words")
    number: str | None = Field(None, description="the quantity claimed, with its unit")
    test: str = Field(min_length=8, description="the evidence that can settle it")
    scope: str = Field(min_length=4, description="what the claim ranges over")
    lanes: tuple[Lane, ...] = Field((), description="lanes that may decide it, first goes before next")
    names_gpu: bool = Field(description="the claim speaks of a GPU, so a CPU can show its mechanism only")
    always: Literal["reported", "definition"] | None = Field(
        None, description="verdict that no data change: craft and pay claims, and definitions"
    )
    if_true: Outcome = Field("holds", description="verdict when every point speaks for the claim")
    if_false: Outcome = Field("fails", description="verdict when every point speaks against it")
    dimension: str | None = Field(None, description="what it depends on when points differ")
    dimension_unit: str = Field("", description="unit of the column dimension_value")
    note: str | None = Field(None, description="what a reader must know beside the verdict")
    evidence: tuple[Evidence, ...] = ()

    @model_validator(mode="after")
    def _one_way_to_a_verdict(self) -> Self:
        if self.always and self.evidence:
            raise ValueError(f"a claim that is always {self.always} takes no evidence")
        if not self.always and not self.lanes:
            raise ValueError("name the lanes that may decide the claim")
        if strangers := {block.lane for block in self.evidence} - set(self.lanes):
            raise ValueError(f"evidence of lanes that are not in `lanes`: {', '.join(sorted(strangers))}")
        if sum(block.points for block in self.evidence) > 1 and not self.dimension:
            raise ValueError("points may differ, so name the `dimension` that the claim would depend on")
        return self


class Verdict(Strict):
    """What the data say about a claim now; a row of the view `claims`."""

    id: str = Field(description="claim")
    topic: str = Field(description="memory, latency, cost, routing, feasibility, hardware, craft or pay")
    claim: str = Field(description="what is said, in our own words")
    number: str | None = Field(description="the quantity claimed, with its unit")
    verdict: str = Field(description="holds, fails, depends, ill-posed, reported, definition or not measured")
    freshness: Freshness = Field(description="current, stale, or not applicable without data")
    lane: str | None = Field(description="evidence lane that decided, null where none did")
    quantity: str | None = Field(description="what value is, in words")
    value: float | None = Field(description="median of the headline point")
    low: float | None = Field(description="smallest repeat, or lower end of the interval")
    high: float | None = Field(description="largest repeat, or upper end of the interval")
    unit: str | None = Field(description="unit of value, low and high; empty for a share or a ratio")
    n_independent: int | None = Field(description="independent units behind the headline: repeats or sweeps")
    points: int | None = Field(description="points that decided")
    dimension: str | None = Field(description="what a `depends` depends on")
    decided_on: date | None = Field(description="day of the oldest measurement that decided")
    versions: str | None = Field(description="engine and router versions behind it")
    note: str | None = Field(description="what a reader must know beside the verdict, or why there is none")
    rule_hash: str = Field(description="hash of what decides: queries, rules, lanes, outcomes")
    wording_hash: str = Field(description="hash of the words of the claim")


class HistoryEntry(Strict):
    """One line of `data/verdicts.jsonl`: a verdict as it was recorded, never rewritten."""

    id: str = Field(description="claim")
    recorded_at: datetime = Field(description="when it was recorded, UTC")
    cause: Literal["first", "data", "rule", "version", "wording"] = Field(description="what changed")
    previous: str | None = Field(description="verdict of the entry before, null for the first")
    verdict: str = Field(description="verdict then")
    lane: str | None = Field(description="lane that decided then")
    value: float | None = Field(description="value then")
    low: float | None = Field(description="lower end then")
    high: float | None = Field(description="upper end then")
    unit: str | None = Field(description="unit then")
    n_independent: int | None = Field(description="independent units then")
    decided_on: date | None = Field(description="day of the oldest measurement then")
    versions: str | None = Field(description="engine and router versions then")
    rule_hash: str = Field(description="hash of what decided then")
    wording_hash: str = Field(description="hash of the words then")
