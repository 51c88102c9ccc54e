"""A machine with NVIDIA cards, ready for a night: what it has, what it lacks, and which cells are due."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pipeline.cli.bench import Bench, tools
from pipeline.cli.say import say
from pipeline.engines.containers import Containers
from pipeline.engines.launchers import ENVIRONMENTS, Garage
from pipeline.engines.models import CATALOGUE as MODELS
from pipeline.engines.models import has_weights, know_own
from pipeline.engines.weights import size_gib
from pipeline.environments import environment
from pipeline.environments.machine import free_gib
from pipeline.errors import EnvironmentMissing, InputError
from pipeline.lanes.gpu import GpuLane
from pipeline.paths import Workspace, cache_root
from pipeline.plan import Machine, Night, plan_night, this_machine
from pipeline.plan.files import read_toml
from pipeline.run.host import describe_host
from pipeline.schemas.gpu import GpuSettings
from pipeline.schemas.profile import Plan, Profile
from pipeline.schemas.words import Engine
from pipeline.store.journal import Journal
from pipeline.store.runs import list_runs
from pipeline.telemetry import nvml
from pipeline.telemetry.nvml import Card

TOOLS = {"vllm-router": "vllm-router", "aiperf": "aiperf"}


def settings_of(ws: Workspace) -> GpuSettings:
    """The owner's file, or what goes without one.

    Raises:
        InputError: the file is wrong, or a card or model folder that it names is not there.
    """
    path = ws.local / "gpu.toml"
    settings = read_toml(path, GpuSettings) if path.exists() else GpuSettings()
    for own in settings.weights.values():
        if not (Path(own.path) / "config.json").exists():
            raise InputError(
                f"no model in {own.path}", where=str(path), next_step="name a folder with config.json"
            )
        know_own(own.name, Path(own.path))
    return settings


def digests_of(ws: Workspace) -> dict[str, str]:
    """Images whose digest was recorded at set-up."""
    path = ws.local / "images.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(image): str(digest) for image, digest in found.items()}


def cards_of(settings: GpuSettings) -> list[Card]:
    """The cards to use.

    Raises:
        InputError: the owner's file names a card that is not there.
    """
    found = nvml.cards()
    if not found or settings.gpus is None:
        return found
    numbers = {card.index: card for card in found}
    if absent := [gpu for gpu in settings.gpus if gpu not in numbers]:
        raise InputError(f"there is no GPU {absent[0]}", where="gpu.toml, field gpus")
    return [numbers[gpu] for gpu in settings.gpus]


def machine_of(cards: list[Card], settings: GpuSettings) -> Machine:
    """What decides which cells can be measured; without a card the plan is for one of 80 GB."""
    own = {size: each.name for size, each in settings.weights.items()}
    cores = this_machine().cores
    if not cards:
        return Machine(cores, own_weights=own)
    return Machine(cores, len(cards), min(card.memory_gib for card in cards), own)


def night_of(ws: Workspace, profile: Profile, *, fresh: bool = False) -> Night:
    """Tonight's cells of a profile: by age, or those of an interrupted night that goes on."""
    settings = settings_of(ws)
    cards = cards_of(settings)
    good, versions = _history(ws, cards[0].name if cards else None)
    unfinished = None if fresh else Journal.latest_unfinished(ws, profile.name)
    header = Journal.resume(ws, unfinished).header if unfinished else {}
    old: dict[Engine, str] = header.get("old_versions") or {
        name: versions[name]
        for name, source in profile.engines.items()
        if name in versions and versions[name] != source.version
    }
    fixed = frozenset(header["units"]) if "units" in header else None
    return plan_night(profile, machine_of(cards, settings), good, old, fixed)


def gpu_bench(
    ws: Workspace,
    profile: Profile,
    night: Night,
    part: Plan | None = None,
    gpus: tuple[int, ...] | None = None,
) -> Bench:
    """This machine for the gpu lane.

    Args:
        ws: the checkout.
        profile: that is measured.
        night: tonight's part of it.
        part: of the night's plan that is measured here; all of it if null.
        gpus: cards to use, by number; the owner's file says if null.

    Raises:
        EnvironmentMissing: no card, or something is not set up; all of it is named.
    """
    settings = settings_of(ws)
    if gpus:
        settings = settings.model_copy(update={"gpus": gpus})
    cards = cards_of(settings)
    if reasons := missing(ws, profile, part or night.plan, cards):
        raise EnvironmentMissing(
            "this machine cannot measure the gpu lane: " + "; ".join(reasons),
            next_step="weighbridge gpu setup makes what can be made; --plan shows the rest",
        )
    garage = Garage(settings, profile.engines, digests_of(ws))
    versions, hashes = tools(TOOLS)
    for name, source in profile.engines.items():
        versions[name] = source.version
    hashes |= _engine_hashes(garage)
    containers = Containers(settings.program)
    return Bench(
        lane=GpuLane(garage, cards, say),
        host=describe_host(cards),
        versions=versions,
        requirements=hashes,
        digests=garage.digests,
        header={"units": [unit.label for unit in night.chosen], "old_versions": dict(night.old_versions)},
        clear_leftovers=containers.remove_leftovers if uses_containers(garage) else lambda: 0,
    )


def uses_containers(garage: Garage) -> bool:
    """Whether any engine runs in a container here."""
    return any(garage.setting(name).launcher == "container" for name in garage.sources)


def missing(ws: Workspace, profile: Profile, plan: Plan, cards: list[Card]) -> list[str]:
    """Everything that keeps a plan from being measured here, one line each."""
    garage = Garage(settings_of(ws), profile.engines, digests_of(ws))
    reasons = [] if cards else [nvml.NO_GPU]
    used = dict.fromkeys((c.cell.engine.name, garage.version(c.cell.engine)) for c in plan.cells)
    reasons += [why for name, version in used if (why := garage.missing(name, version))]
    for name in TOOLS.values():
        try:
            environment(name)
        except EnvironmentMissing:
            reasons.append(f"environment {name} (weighbridge env setup {name})")
    return reasons + _weights_missing(plan)


def weights_needed(plan: Plan) -> list[str]:
    """Models of a plan whose Gaussian weights are not made yet."""
    names = dict.fromkeys(c.cell.engine.model for c in plan.cells if c.cell.engine.weights == "gaussian")
    return [name for name in names if not has_weights(name)]


def _weights_missing(plan: Plan) -> list[str]:
    needed = weights_needed(plan)
    if not needed:
        return []
    total, free = sum(size_gib(MODELS[name]) for name in needed), free_gib(cache_root())
    names = ", ".join(needed)
    room = "" if free > total else f", and {free:.0f} GiB are free"
    return [f"weights of {names}, {total:.0f} GiB on disk (weighbridge gpu setup){room}"]


def _history(ws: Workspace, gpu: str | None) -> tuple[dict[str, datetime], dict[str, str]]:
    """(series to newest good row, engine to version of its newest good row) on this kind of card."""
    good: dict[str, datetime] = {}
    versions: dict[str, tuple[datetime, str]] = {}
    for run in list_runs(ws, "promoted", "local"):
        if run.manifest.lane != "gpu" or (gpu and run.manifest.host.gpu_name != gpu):
            continue
        for row in run.rows():
            if row.status != "ok" or row.superseded:
                continue
            good[row.series_id] = max(row.started_at, good.get(row.series_id, row.started_at))
            known = versions.get(row.engine)
            if row.engine_version and (known is None or known[0] < row.started_at):
                versions[row.engine] = (row.started_at, row.engine_version)
    return good, {engine: version for engine, (_, version) in versions.items()}


def _engine_hashes(garage: Garage) -> Mapping[str, str]:
    """Hashes of the engines' own environments, where they are used."""
    used = [
        ENVIRONMENTS[name]
        for name in garage.sources
        if garage.setting(name).launcher == "venv"
        and not garage.setting(name).python
        and name in ENVIRONMENTS
    ]
    return {name: environment(name).requirements_sha256 for name in used}
