"""Compilation of the simulator's inner loops, and where the machine code is kept.

Numba notices a changed file only by itself, not through the functions it calls, so machine code is kept in a
folder named by the hash of all compiled modules: changed source never runs old code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from pipeline.paths import cache_root

F = TypeVar("F", bound=Callable[..., object])

KERNELS = ("caches", "compiled", "core", "engine", "policies", "state")
"""Modules whose functions are compiled."""


def _code_folder() -> Path:
    digest = hashlib.sha256(numba.__version__.encode())
    for name in KERNELS:
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return cache_root() / "numba" / digest.hexdigest()[:16]


_config: Any = numba.config
_njit: Any = numba.njit
_config.CACHE_DIR = str(_code_folder())


# Kernels allocate nothing, so arrays need no reference counts: with them an event takes fifty times as long.
_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}


def compiled(function: F) -> F:
    """Compile a function into its compiled callers; Python cannot call it."""
    return cast("F", _njit(no_cpython_wrapper=True, forceinline=True, **_OPTIONS)(function))


def cold(function: F) -> F:
    """Compile a function that is rarely called, once and for itself, to keep its callers small."""
    return cast("F", _njit(no_cpython_wrapper=True, **_OPTIONS)(function))


def entry(function: F) -> F:
    """Compile a function that Python calls, and keep its machine code, callees included, on disk."""
    return cast("F", _njit(cache=True, **_OPTIONS)(function))
