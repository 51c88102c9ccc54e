"""Runs, freshness of lanes and corrections."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape

from pipeline.schemas.correction import Correction
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Host, Manifest
from pipeline.schemas.words import Lane
from pipeline.site.basis import versions_text
from pipeline.site.data import Kept, SiteData
from pipeline.site.html import day, one_block, table
from pipeline.site.words import LANE_BADGES

LANES: tuple[Lane, ...] = tuple(lane for lane in LANE_BADGES if lane != "reported")
"""Lanes that can have runs."""


def runs_table(kept: Sequence[Kept], places: Sequence[str]) -> str:
    """Finished runs at these places, newest first, each with all that its manifest tells."""
    shown = [each for each in reversed(kept) if each.place in places]
    if not shown:
        return one_block('<p class="wb-note">None yet.</p>')
    return one_block("".join(_run(each) for each in shown))


def _run(kept: Kept) -> str:
    run = kept.manifest
    failed = f", {run.cells_failed} failed" if run.cells_failed else ""
    counted = f"{run.cells_ok} measurements ok{failed} · {run.repeats} repeats"
    line = f"{day(run.started_at.date())} · {LANE_BADGES[run.lane]} · {counted}"
    reason = f'<p class="wb-note">Quarantined: {escape(kept.reason)}</p>' if kept.reason else ""
    return (
        f'<details class="wb-run" id="{run.run_id}">'
        f"<summary><b>{run.run_id}</b> <span>{line}</span></summary>{reason}"
        f"{table(['Field', 'Value'], _fields(run))}{_launches(kept.launches)}</details>"
    )


def _launches(launches: Sequence[Launch]) -> str:
    """Each way a server was started: line, variables and configuration file, as they were run."""
    return "".join(
        f"<details><summary>{escape(each.engine)} {escape(each.version or 'as found')}, {each.launcher}, "
        f"start <code>{each.launch_id}</code></summary>"
        f"{_verbatim('command', each.command)}{_verbatim('variables', each.environment)}"
        f"{_verbatim('configuration file', each.config)}</details>"
        for each in launches
    )


def _verbatim(title: str, text: str) -> str:
    return f"<p>{title}</p><pre><code>{escape(text)}</code></pre>" if text else ""


def _gpu(host: Host) -> str:
    """Name, form factor, count, driver, limits and modes; n/a for what the driver does not tell."""
    if host.gpu_name is None:
        return "none"
    known = {
        "form factor": host.gpu_form_factor,
        "cards": host.gpu_count,
        "memory GiB": host.gpu_memory_gib,
        "driver": host.gpu_driver,
        "power limit W": host.gpu_power_limit_w,
        "ECC": host.gpu_ecc,
        "MIG": host.gpu_mig,
    }
    words = [f"{name} {'n/a' if value is None else escape(str(value))}" for name, value in known.items()]
    return f"{escape(host.gpu_name)}, {', '.join(words)}"


def _fields(run: Manifest) -> list[list[str]]:
    host = run.host
    commit = (
        f"{run.git_commit[:12]}{' (with changes)' if run.git_dirty else ''}"
        if run.git_commit
        else "not recorded"
    )
    fields = {
        "Profile": run.profile,
        "Started": f"{run.started_at:%Y-%m-%d %H:%M} UTC",
        "Took": f"{run.duration_s / 60:.0f} min",
        "Versions": versions_text(run),
        "Machine": f"{host.cpu_model}, {host.cores} cores, {host.memory_gib:.0f} GiB, {host.system}",
        "GPU": _gpu(host),
        "Command": f"<code>{escape(run.command)}</code>",
        "Commit": commit,
        "Seed": str(run.seed),
        "Cells planned": f"{run.cells_planned}",
        "Environments": "<br>".join(
            f"{name} <code>{sha[:12]}</code>" for name, sha in run.requirements_sha256.items()
        ),
        "Images": "<br>".join(
            f"{escape(image)} <code>{escape(digest.rpartition('@')[2])}</code>"
            for image, digest in run.image_digests.items()
        )
        or "none",
    }
    return [[name, value] for name, value in fields.items()]


def freshness_row(data: SiteData) -> str:
    """One line: how old the newest data of each lane are, and which lanes have none."""
    filled = {lane: on for lane in LANES if (on := data.filled_on(lane))}
    waiting = [lane for lane in LANES if lane not in filled]
    rest = f"<span>○ {', '.join(waiting)}: no data yet</span>" if waiting else ""
    return "".join(_fresh(lane, on, data) for lane, on in filled.items()) + rest


def _fresh(lane: Lane, on: date, data: SiteData) -> str:
    age, limit = (data.today - on).days, data.limits.get(lane)
    stale = limit is not None and age > limit
    sign = '<i class="wb-stale" aria-hidden="true">◐</i>' if stale else '<i aria-hidden="true">●</i>'
    return f"<span>{sign} {lane}: {_age(age)}{' (stale)' if stale else ''}</span>"


def _age(days: int) -> str:
    return "today" if days <= 0 else "1 day old" if days == 1 else f"{days} days old"


def freshness_table(data: SiteData) -> str:
    """Each lane with its newest run, its age and its limit."""
    rows = [_freshness(lane, data) for lane in LANES]
    return one_block(table(["Lane", "Newest run or command", "Date", "Age", "Limit"], rows))


def _freshness(lane: Lane, data: SiteData) -> list[str]:
    run, on, limit = data.newest(lane), data.filled_on(lane), data.limits.get(lane)
    allowed = f"{limit} days" if limit else "while its inputs stand"
    if on is None:
        return [lane, "none", "n/a", "n/a", allowed]
    made = (
        f'<a href="#{run.run_id}">{run.run_id}</a>' if run else f"<code>{data.computed[lane].command}</code>"
    )
    return [lane, made, day(on), _age((data.today - on).days), allowed]


def corrections_table(corrections: Sequence[Correction]) -> str:
    """Promoted runs that were taken away, each with its reason."""
    if not corrections:
        return one_block('<p class="wb-note">No promoted run has been removed.</p>')
    rows = [
        [c.run_id, c.lane, day(c.started_at.date()), day(c.removed_at.date()), escape(c.reason)]
        for c in reversed(corrections)
    ]
    return one_block(table(["Run", "Lane", "Measured", "Removed", "Why"], rows))
