"""`weighbridge run`: measure a profile on this machine."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.cli.bench import Bench, cpu_bench
from pipeline.cli.computed import compute, show_computed
from pipeline.cli.gpu_bench import gpu_bench, night_of
from pipeline.cli.nightplan import show_night
from pipeline.cli.say import say
from pipeline.errors import InputError
from pipeline.lanes.rows import RunContext
from pipeline.lanes.serving import Places
from pipeline.paths import Workspace
from pipeline.plan import load_any_profile, plan
from pipeline.process import stop_leftovers
from pipeline.run import run_lock, run_plan
from pipeline.run.host import git_state
from pipeline.run.progress import clock, label
from pipeline.schemas.cell import EngineKnobs
from pipeline.schemas.computed import ComputedProfile
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.observation import SCHEMA_VERSION
from pipeline.schemas.profile import Plan, Profile
from pipeline.store.journal import Journal


class RunCommand(BaseModel):
    """Measure a profile: plan its cells, start engines, store each finished cell; resume where it stopped."""

    profile: CliPositionalArg[str] = Field(description="profile name, e.g. cpu-quick, cpu or derived")
    plan: bool = Field(False, description="show cells, order and expected time, and measure nothing")
    fresh: bool = Field(
        False, description="start anew instead of resuming an interrupted run of this profile"
    )
    executor: Literal["here", "ray"] = Field(
        "here", description="where: on this machine, or ray over a cluster that runs (gpu lane)"
    )
    gpu_type: str | None = Field(None, description="with ray: GPU type as Ray names it, e.g. H100")
    wait_s: float = Field(
        0.0, ge=0, description="wait this long for another run on this machine; 0 refuses at once"
    )

    def cli_cmd(self) -> None:
        """Plan, or plan and measure."""
        profile = load_any_profile(self.profile)
        # TERM ends a run as Ctrl-C does: servers are stopped, finished cells kept. INT is set too, because a
        # shell that starts a command in the background makes it ignore INT.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        if isinstance(profile, ComputedProfile):
            print(show_computed(profile)) if self.plan else compute(
                Workspace(), profile, say, fresh=self.fresh
            )
            return
        if self.plan:
            print(self._shown(profile))
            return
        if self.executor == "ray":
            self._spread(profile)
            return
        with run_lock(self.wait_s, say):
            folder = measure_profile(Workspace(), profile, fresh=self.fresh)
        say(f"stored in {folder}")

    def _spread(self, profile: Profile) -> None:
        from pipeline.cli.spread import measure_spread  # noqa: PLC0415 - it imports this module

        if profile.lane != "gpu":
            raise InputError(f"{profile.name} is not spread", next_step="name a profile of the gpu lane")
        for folder in measure_spread(Workspace(), profile, self.gpu_type):
            say(f"stored in {folder}")

    def _shown(self, profile: Profile) -> str:
        if profile.lane != "gpu":
            return show(plan(profile))
        night = night_of(Workspace(), profile, fresh=self.fresh)
        return f"{show(night.plan)}\n\n{show_night(Workspace(), profile, night)}"


def measure_profile(ws: Workspace, profile: Profile, *, fresh: bool = False) -> Path:
    """Measure what is due of a profile and consolidate it; returns as `measure` does.

    Raises:
        EnvironmentMissing: the machine lacks something that the profile needs.
    """
    if profile.lane != "gpu":
        return measure(ws, plan(profile), fresh=fresh)
    night = night_of(ws, profile, fresh=fresh)
    return measure(ws, night.plan, fresh=fresh, bench=gpu_bench(ws, profile, night))


def show(planned: Plan) -> str:
    """The plan as a table: order, repeat, expected seconds and knobs of every cell."""
    lines = [f"{planned.profile.name}: {planned.profile.title}", "", "  no  repeat  expect  cell"]
    key = None
    for number, item in enumerate(planned.cells, 1):
        if (item.repeat % 100, item.server_key) != key:
            key = (item.repeat % 100, item.server_key)
            knobs = item.cell.engine
            lines.append(
                f"      -- start {knobs.replicas} x {knobs.name}, {knobs.model}, "
                f"{planned.profile.server_start_s + item.extra_start_s:.0f} s{_set_on(knobs)}"
            )
        twin = " (A/A twin)" if item.twin_of_repeat else ""
        lines.append(f"{number:>4}  {item.repeat:>6}  {item.expected_s:>4.0f} s  {label(item.cell)}{twin}")
    lines += [
        "",
        f"{len(planned.cells)} cells, {planned.server_starts} starts, about {clock(planned.expected_s)}",
    ]
    return "\n".join(lines)


def _set_on(knobs: EngineKnobs) -> str:
    """What is set on purpose on the servers of a plan's next cells."""
    known = {"name", "model", "replicas"}
    chosen = knobs.model_dump(mode="json", exclude_defaults=True, exclude=known)
    return ": " + " ".join(f"{name}={value}" for name, value in chosen.items()) if chosen else ""


def measure(ws: Workspace, planned: Plan, *, fresh: bool = False, bench: Bench | None = None) -> Path:
    """Measure a plan and consolidate it; on the cpu lane if no bench is given.

    Returns:
        The folder of the finished run; in quarantine where its checks failed.
    """
    bench = bench or cpu_bench()
    journal = _journal(ws, planned, bench, fresh=fresh)
    places = Places(ws.local / "work" / journal.run_id, ws.local / "running")
    leftovers = stop_leftovers(places.notes) + bench.clear_leftovers()
    if leftovers:
        say(f"stopped {leftovers} servers that a killed run had left")
    context = RunContext(journal.run_id, bench.host.host_id, dict(bench.versions))
    say(f"run {journal.run_id}")
    try:
        run_plan(planned, context, journal, places, say, bench.lane)
    except KeyboardInterrupt:
        say(f"stopped; finished cells are kept, `weighbridge run {planned.profile.name}` goes on from here")
        raise
    return journal.consolidate(manifest_of(ws, planned, journal, bench))


def _journal(ws: Workspace, planned: Plan, bench: Bench, *, fresh: bool) -> Journal:
    name = planned.profile.name
    unfinished = None if fresh else Journal.latest_unfinished(ws, name)
    if unfinished:
        say(f"resuming {unfinished}; --fresh starts anew")
        return Journal.resume(ws, unfinished)
    started = datetime.now(UTC)
    run_id = f"{name}-{started:%Y%m%dT%H%M%SZ}"
    header = {"profile": name, "started_at": started.isoformat(), **bench.header}
    return Journal.create(ws, run_id, header)


def manifest_of(ws: Workspace, planned: Plan, journal: Journal, bench: Bench) -> Manifest:
    """The manifest of a run that ends now; the store fills in what only the rows know."""
    started, finished = datetime.fromisoformat(str(journal.header["started_at"])), datetime.now(UTC)
    commit, dirty = git_state(ws.root)
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=journal.run_id,
        profile=planned.profile.name,
        lane=planned.profile.lane,
        started_at=started,
        finished_at=finished,
        git_commit=commit,
        git_dirty=dirty,
        command=f"weighbridge run {planned.profile.name}",
        seed=planned.profile.seed,
        repeats=planned.profile.repeats,
        host=bench.host,
        versions=dict(bench.versions),
        requirements_sha256=dict(bench.requirements),
        image_digests=dict(bench.digests),
        cells_planned=len(planned.cells),
        cells_ok=0,
        cells_failed=0,
        duration_s=(finished - started).total_seconds(),
        rows_sha256="",
        promoted_at=None,
    )
