"""What opens below a claim of the ledger: evidence, rule, what would flip it, history, pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from pipeline.schemas.claim import Evidence, Rule
from pipeline.schemas.words import MEASURED_LANES
from pipeline.site.claims import Standing
from pipeline.site.data import Change
from pipeline.site.facts import reproduce
from pipeline.site.html import day, table
from pipeline.site.numbers import written
from pipeline.site.turninghtml import flip_words, points_table

INSIDE = {"true": "speaks for the claim", "false": "speaks against it", "undecided": "does not decide"}


def opened(standing: Standing, pages: Sequence[tuple[str, str]], changes: Sequence[Change]) -> str:
    """Folded details of one claim; they open by pointer or key, with or without a script.

    Args:
        standing: the claim.
        pages: (title, address) of pages that use it.
        changes: its history, oldest first.
    """
    parts = {
        "What would flip it": f"<p>{standing.id} {flip_words(standing)}</p>",
        "Points": points_table(standing.turns) if standing.turns else "",
        "Evidence and rule": "".join(_evidence(standing)),
        "History": _history(changes),
        "Pages": _pages(pages),
    }
    inner = "".join(f"<h4>{head}</h4>{html}" for head, html in parts.items() if html)
    return (
        f'<details class="wb-more"><summary>Evidence, rule, history<span class="wb-hidden"> of claim '
        f"{standing.id}</span></summary>{inner}</details>"
    )


def _evidence(standing: Standing) -> Iterator[str]:
    if standing.scope:
        yield f"<p>Scope: {escape(standing.scope)}.</p>"
    for block in standing.evidence:
        yield (
            f"<p>{block.lane}: {escape(block.quantity)}. {rule_words(block)}</p>"
            f"<p><code>{escape(reproduce(block.sql, None))}</code></p>"
        )
    if standing.evidence:
        versions = f" · {escape(standing.versions)}" if standing.versions else ""
        yield f'<p class="wb-note">rule <code>{standing.rule_hash}</code>{versions}</p>'
    else:
        yield f"<p>{_no_rule(standing)}</p>"


def _no_rule(standing: Standing) -> str:
    if standing.verdict in ("reported", "definition"):
        return f"Always {standing.verdict}: no data decide it."
    return f"No rule yet; it could be settled by {', '.join(standing.lanes)}."


def rule_words(block: Evidence) -> str:
    """`It speaks for the claim when at most 1.00; inside the A/A band of batch it speaks for the claim.`"""
    threshold = written(block.rule.threshold, "number", block.unit)
    words = f"It speaks for the claim when {block.rule.when} {threshold}"
    return f"{words}{_noise_words(block.rule)}." if block.lane in MEASURED_LANES else f"{words}."


def _noise_words(rule: Rule) -> str:
    if rule.noise is None:
        return ""
    return f"; inside the A/A band of {escape(rule.noise.experiment)} a point {INSIDE[rule.noise.inside]}"


def _history(changes: Sequence[Change]) -> str:
    rows = [[day(c.on), c.before or "first record", c.after, c.cause] for c in reversed(changes)]
    return table(["Recorded", "Was", "Is", "Cause"], rows) if rows else "<p>Not recorded yet.</p>"


def _pages(pages: Sequence[tuple[str, str]]) -> str:
    links = "".join(f'<li><a href="{address}">{escape(title)}</a></li>' for title, address in pages)
    return f"<ul>{links}</ul>" if links else "<p>No page uses it yet.</p>"
