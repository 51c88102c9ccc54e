"""`weighbridge gpu`: get a machine with NVIDIA cards ready."""

from __future__ import annotations

import json

from pydantic import BaseModel, Field
from pydantic_settings import CliApp, CliPositionalArg, CliSubCommand

from pipeline.cli.gpu_bench import (
    cards_of,
    digests_of,
    machine_of,
    missing,
    settings_of,
    uses_containers,
    weights_needed,
)
from pipeline.cli.gpu_kit import GpuKit, GpuTake
from pipeline.cli.say import say
from pipeline.engines.containers import Containers
from pipeline.engines.launchers import ENVIRONMENTS, Garage
from pipeline.engines.models import weighted_folder
from pipeline.environments import set_up, spec
from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.plan import load_profile, plan
from pipeline.schemas.profile import Profile
from pipeline.store.files import reported, write_synced


def gpu_profile(name: str) -> Profile:
    """A profile of the gpu lane.

    Raises:
        InputError: there is none of that name.
    """
    profile = load_profile(name)
    if profile.lane != "gpu":
        raise InputError(f"{name} is a profile of the {profile.lane} lane", next_step="name gpu-nightly")
    return profile


class GpuSetup(BaseModel):
    """Fetch images and record their digests, set up environments, make weights; what is there stays."""

    profile: CliPositionalArg[str] = Field("gpu-nightly", description="profile of the gpu lane")

    def cli_cmd(self) -> None:
        """Make what can be made, then say what is missing."""
        ws, profile = Workspace(), gpu_profile(self.profile)
        settings = settings_of(ws)
        cards = cards_of(settings)
        for name in ("vllm-router", "aiperf"):
            set_up(spec(name))
        garage = Garage(settings, profile.engines, digests_of(ws))
        _engines(ws, garage)
        whole = plan(profile, machine_of(cards, settings))
        for model in weights_needed(whole):
            weighted_folder(model, say)
        left = missing(ws, profile, whole, cards)
        print("\n".join(f"missing: {each}" for each in left) or "Ready: weighbridge run gpu-nightly")


class GpuCommand(BaseModel):
    """Get a machine with NVIDIA cards ready for the gpu lane."""

    setup: CliSubCommand[GpuSetup]
    kit: CliSubCommand[GpuKit]
    take: CliSubCommand[GpuTake]

    def cli_cmd(self) -> None:
        """Run the part that was named."""
        CliApp.run_subcommand(self)


def _engines(ws: Workspace, garage: Garage) -> None:
    if uses_containers(garage):
        _images(ws, garage)
    for name in garage.sources:
        setting = garage.setting(name)
        if setting.launcher == "venv" and not setting.python and name in ENVIRONMENTS:
            set_up(spec(ENVIRONMENTS[name]))


def _images(ws: Workspace, garage: Garage) -> None:
    """Digests are those that the container program reports for what it fetched."""
    containers, known = Containers(garage.settings.program), digests_of(ws)
    for name, source in garage.sources.items():
        if garage.setting(name).launcher == "container":
            image = garage.image(name, source.version)
            known[image] = containers.digest(image) or containers.pull(image)
            say(f"{image} is {known[image]}")
    path = ws.local / "images.json"
    with reported("recording digests", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_synced(path, json.dumps(known, indent=1, sort_keys=True).encode())
