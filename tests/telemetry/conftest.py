"""A stand-in for the driver's library, built once and put in the place of the real one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pynvml
import pytest

KEYS = (
    *("memory_used", "process_bytes", "process_pid", "other_pid", "power_mw", "clock_mhz", "heat_c"),
    *("reasons", "energy_mj", "error_init", "error_read", "error_processes", "mig", "error_power"),
)
GIB = 2**30


class Driver:
    """What the stand-in answers; names are those of KEYS."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self._library.set(KEYS.index(name), ctypes.c_ulonglong(value))


def build(folder: Path) -> Path:
    """The library as a file of the name that is looked for."""
    target = folder / "libnvidia-ml.so.1"
    source = Path(__file__).with_name("nvml.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", target, source], check=True)
    return target


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to build the stand-in for NVML with")
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(nvml_library: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    library = ctypes.CDLL(str(nvml_library))
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    made = Driver(library)
    made.set(**dict.fromkeys(KEYS, 0))
    made.set(memory_used=20 * GIB, process_pid=77, process_bytes=18 * GIB, power_mw=300_000)
    made.set(clock_mhz=1755, heat_c=61, energy_mj=1_000_000)
    return made
