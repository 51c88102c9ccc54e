"""Facts in prose and in the evidence table; the link to the row works without a script."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.site.facts import Fact
from pipeline.site.html import attribute, day, one_block
from pipeline.site.numbers import NBSP
from pipeline.site.words import LANE_BADGES, NO_VALUE


def fact_link(fact: Fact, page: str = "") -> str:
    """A number in prose, linked to its row of evidence.

    Args:
        fact: the number.
        page: address of the page with the row, empty on that page itself.
    """
    missing = "" if fact.value.n else " wb-missing"
    return (
        f'<a class="wb-fact{missing}" href="{page}#{row_id(fact.name)}" title="{attribute(summary(fact))}">'
        f"{fact.text}</a>"
    )


def summary(fact: Fact) -> str:
    """One line for a pointer: what, lane, date, repeats, interval."""
    if not fact.value.n:
        return f"{fact.spec.label}: not measured yet"
    parts = [
        fact.spec.label,
        LANE_BADGES[fact.spec.lane],
        day(fact.measured_on),
        f"n = {fact.value.n}",
        fact.interval,
    ]
    return " · ".join(parts)


def row_id(name: str) -> str:
    """Anchor of a fact's row of evidence."""
    return f"ev-{name.replace('_', '-')}"


def evidence_table(facts: Sequence[Fact], local_run: str | None) -> str:
    """All facts of a page with lane, value, interval, n, date, versions and the command that repeats them.

    Args:
        facts: in the order of the page.
        local_run: id of this machine's newest run; None leaves its column out.
    """
    if not facts:
        return one_block('<p class="wb-note">No measured number stands on this page.</p>')
    heads = ["Fact", "Lane", "Value", "Smallest to largest", "n"] + (["Your machine"] if local_run else [])
    head = "".join(f"<th{' class=num' if i > 1 else ''}>{text}</th>" for i, text in enumerate(heads))
    body = "".join(_row(fact, local_run) for fact in facts)
    note = (
        f'<p class="wb-note">Your machine: run <code>{local_run}</code>, newest on this computer.</p>'
        if local_run
        else ""
    )
    return one_block(
        '<div class="wb-scroll" tabindex="0" role="group" aria-label="Evidence">'
        f'<table class="wb-table wb-evidence"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def _row(fact: Fact, local_run: str | None) -> str:
    mine = f'<td class="num wb-mine">{fact.local_text or NO_VALUE}</td>' if local_run else ""
    return (
        f'<tr id="{row_id(fact.name)}"><td>{_what(fact)}</td>'
        f'<td><span class="wb-lane">{fact.spec.lane}</span></td>'
        f'<td class="num wb-value">{fact.text}</td><td class="num wb-interval">{fact.interval}</td>'
        f'<td class="num wb-n">{fact.value.n or NO_VALUE}</td>{mine}</tr>'
    )


def _what(fact: Fact) -> str:
    """Label, and date and versions that open to show the command."""
    when = day(fact.measured_on) if fact.basis else "not measured"
    return (
        f'<span class="wb-label">{fact.spec.label}</span>'
        f'<details class="wb-repeat"><summary><span class="wb-date">{when.replace(" ", NBSP)}</span> · '
        f'<span class="wb-versions">{fact.versions}</span> · reproduce</summary>'
        f"<code>{attribute(fact.command)}</code></details>"
    )
