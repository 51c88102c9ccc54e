"""`weighbridge run PROFILE --executor ray`: a night over the machines of a cluster, one run a machine."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.cli.bench import Bench
from pipeline.cli.gpu_bench import gpu_bench, night_of
from pipeline.cli.run import manifest_of
from pipeline.cli.say import say
from pipeline.errors import EnvironmentMissing
from pipeline.lanes.cpu import CpuLane
from pipeline.lanes.rows import RunContext
from pipeline.lanes.serving import Places
from pipeline.paths import Workspace
from pipeline.run import run_lock, run_plan
from pipeline.run.spread import Collected, Share, spread
from pipeline.schemas.profile import Plan, PlannedCell, Profile
from pipeline.store.journal import Journal

WAIT_S = 6 * 3600.0


def measure_spread(ws: Workspace, profile: Profile, gpu_type: str | None) -> list[Path]:
    """Measure what is due of a profile on a cluster; returns the folder of each machine's run.

    Raises:
        EnvironmentMissing: Ray, a cluster or a measured machine is missing.
    """
    night = night_of(ws, profile, fresh=True)
    base = f"{profile.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    work = partial(measure_here, profile, base)
    journals: dict[str, tuple[Journal, Share]] = {}
    for share in spread(night.plan, work, say, gpu_type):
        store(ws, profile, base, share, journals)
    if not journals:
        raise EnvironmentMissing(
            "no machine of the cluster measured anything", next_step="see the lines above"
        )
    return [
        journal.consolidate(manifest_of(ws, night.plan, journal, _bench(share)))
        for journal, share in journals.values()
    ]


def measure_here(profile: Profile, base: str, cells: list[PlannedCell]) -> Share:
    """One experiment on the machine this is called on, on the cards that Ray gives."""
    ray: Any = import_module("ray")
    ws, plan = Workspace(), Plan(profile=profile, cells=tuple(cells))
    numbers = tuple(int(gpu) for gpu in ray.get_gpu_ids())
    bench = gpu_bench(ws, profile, night_of(ws, profile, fresh=True), plan, numbers)
    collected = Collected()
    context = RunContext(named(base, bench.host.host_id), bench.host.host_id, dict(bench.versions))
    places = Places(ws.local / "work" / context.run_id, ws.local / "running")
    with run_lock(WAIT_S, say):
        run_plan(plan, context, collected, places, say, bench.lane)
    return Share(bench.host, dict(bench.versions), dict(bench.requirements), dict(bench.digests), collected)


def store(
    ws: Workspace, profile: Profile, base: str, share: Share, journals: dict[str, tuple[Journal, Share]]
) -> None:
    """Append a share to the journal of its machine; a cell that is there already is left out."""
    host = share.host.host_id
    if host not in journals:
        header = {"profile": f"{profile.name}@ray", "started_at": datetime.now(UTC).isoformat()}
        journals[host] = (Journal.create(ws, named(base, host), header), share)
    journal, _ = journals[host]
    done = {(row.cell_id, row.repeat) for row in journal.rows()}
    for rows, requests in share.collected.cells:
        if (rows[0].cell_id, rows[0].repeat) not in done:
            journal.append(rows, requests)
    journal.launched(share.collected.launches)


def named(base: str, host: str) -> str:
    """Name of one machine's run: the time stays at its end."""
    name, _, time = base.rpartition("-")
    return f"{name}-{host[:6]}-{time}"


def _bench(share: Share) -> Bench:
    return Bench(CpuLane(), share.host, share.versions, share.requirements, share.digests)
