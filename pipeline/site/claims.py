"""Claims as the site shows them: the words of the claim file beside the verdict of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pipeline.schemas.claim import Evidence
from pipeline.schemas.turning import ClaimSplit, ClaimThreshold
from pipeline.schemas.words import Freshness, Lane, Outcome, Topic
from pipeline.site.words import LANE_BADGES, OUTCOME_SIGNS, css_word


@dataclass(frozen=True)
class Standing:
    """One claim with its verdict.

    Args:
        id: as in the claim ledger.
        topic: topic of the claim.
        claim: what is said, in our own words.
        number: the quantity claimed, None where there is none.
        verdict: outcome of the rule.
        dimension: what it depends on, None unless it depends.
        freshness: whether the data behind it are within their limit.
        lane: lane that decided, None where none has.
        lanes: lanes that could settle it, with what they would measure.
        value: measured value with unit and interval, as text, None where there is none.
        n: independent repeats.
        decided_on: day of the data behind the verdict.
        note: what the rule adds in words.
        scope: what the claim ranges over.
        versions: engines, routers or packages behind the verdict, None where not recorded.
        rule_hash: hash of what decides.
        evidence: queries and rules of the claim file.
        turns: points that decided, and where each would turn.
        splits: where a verdict that depends flips, and what would part its points better.
    """

    id: str
    topic: Topic
    claim: str
    number: str | None
    verdict: Outcome
    dimension: str | None
    freshness: Freshness
    lane: Lane | None
    lanes: tuple[Lane, ...]
    value: str | None
    n: int | None
    decided_on: date | None
    note: str | None
    scope: str = ""
    versions: str | None = None
    rule_hash: str = ""
    evidence: Sequence[Evidence] = ()
    turns: Sequence[ClaimThreshold] = ()
    splits: Sequence[ClaimSplit] = ()

    @property
    def words(self) -> str:
        """`depends · on prefix sharing`."""
        return (
            f"{self.verdict} · on {self.dimension}"
            if self.verdict == "depends" and self.dimension
            else self.verdict
        )


def outcome_mark(outcome: Outcome, words: str | None = None) -> str:
    """An outcome by sign, word and colour."""
    sign = f'<span aria-hidden="true">{OUTCOME_SIGNS[outcome]}</span>'
    return f'<span class="wb-v wb-{css_word(outcome)}">{sign} {words or outcome}</span>'


def lane_badge(lane: Lane) -> str:
    """A lane as a badge with its words."""
    return f'<span class="wb-badge" title="evidence lane {lane}">{LANE_BADGES[lane]}</span>'
