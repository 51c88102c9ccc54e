"""Cells spread over a Ray cluster that runs: Ray finds a machine and tries again when one is lost.

The unit is an experiment: what is compared with each other shares a machine, and so does its noise. A task
gives its rows when all of them are there, and the one process that stores them takes each cell once; so a
machine that is lost in the middle loses nothing and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from pipeline.errors import EnvironmentMissing, WeighbridgeError
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Host
from pipeline.schemas.observation import Observation, RequestRow
from pipeline.schemas.profile import Plan, PlannedCell

TRIES = 3
Measured = tuple[list[Observation], list[RequestRow]]


@dataclass
class Collected:
    """A sink that keeps everything until its task is done."""

    cells: list[Measured] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)

    def append(self, rows: Sequence[Observation], requests: Sequence[RequestRow]) -> None:
        """Keep one finished cell."""
        self.cells.append((list(rows), list(requests)))

    def launched(self, launches: Sequence[Launch]) -> None:
        """Keep how servers were started."""
        self.launches += launches

    def done(self) -> set[tuple[str, int]]:
        """Nothing was measured before."""
        return set()


@dataclass(frozen=True)
class Share:
    """What one task brings home.

    Attributes:
        host: machine that measured.
        versions: tool to version there.
        requirements: environment to hash there.
        digests: image to digest there.
        collected: cells and launches.
    """

    host: Host
    versions: dict[str, str]
    requirements: dict[str, str]
    digests: dict[str, str]
    collected: Collected


Work = Callable[[list[PlannedCell]], Share]


def experiments_of(plan: Plan) -> list[list[PlannedCell]]:
    """The cells of each experiment, in the plan's order."""
    groups: dict[str, list[PlannedCell]] = {}
    for planned in plan.cells:
        groups.setdefault(planned.cell.experiment, []).append(planned)
    return list(groups.values())


def spread(
    plan: Plan, work: Work, say: Callable[[str], None], gpu_type: str | None = None, address: str = "auto"
) -> Iterator[Share]:
    """Shares as they come home, each experiment once.

    Args:
        plan: all cells.
        work: measures the cells of one experiment on the machine it is called on; sent there whole.
        say: told of each share, and of what was lost for good.
        gpu_type: Ray's name of a GPU type, e.g. H100; any machine with GPUs if null.
        address: of the cluster.

    Raises:
        EnvironmentMissing: Ray is not installed, or no cluster answers.
    """
    ray = connected(address)
    waiting = {_submit(ray, work, cells, gpu_type): cells for cells in experiments_of(plan)}
    while waiting:
        (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
        name = waiting.pop(ready)[0].cell.experiment
        try:
            share: Share = ray.get(ready)
        except (ray.exceptions.RayError, WeighbridgeError) as error:
            say(f"{name}: lost after {TRIES} more tries, {str(error).splitlines()[0][:200]}")
            continue
        say(f"{name}: {len(share.collected.cells)} cells from {share.host.gpu_name or share.host.host_id}")
        yield share


def connected(address: str) -> Any:
    """Ray's module, connected.

    Raises:
        EnvironmentMissing: it is not installed, or no cluster answers.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise EnvironmentMissing(
            "Ray is not installed", next_step="pip install 'weighbridge[ray]' on every machine of the cluster"
        ) from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False)
        except ConnectionError:
            raise EnvironmentMissing("no Ray cluster runs here", next_step="ray start --head") from None
    return ray


def _submit(ray: Any, work: Work, cells: list[PlannedCell], gpu_type: str | None) -> Any:
    """One task; a system failure (a lost machine) is tried again, an error of the work is an answer."""
    gpus = max(planned.cell.engine.tensor_parallel for planned in cells)
    place = {"accelerator_type": gpu_type} if gpu_type else {}
    task = ray.remote(work).options(num_cpus=1, num_gpus=gpus, max_retries=TRIES, **place)
    return task.remote(cells)
