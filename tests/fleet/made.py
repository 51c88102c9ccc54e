"""Small fleets, tables and workloads for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.errors import InputError
from pipeline.fleet.arrivals import poisson
from pipeline.fleet.builders import sessions, zipf_prefixes
from pipeline.fleet.steps import StepTable
from pipeline.fleet.workload import Workload

TABLE = StepTable(
    np.array([1.0, 4, 16, 64]),
    np.array([1.0, 500, 4000]),
    np.array([[5.0, 6, 9], [6, 7, 15], [8, 12, 30], [12, 30, 90]]),
    3.0,
    0.02,
    0.001,
)


def prefixes(
    requests: int, rate_per_s: float = 40.0, groups: int = 12, seed: int = 1, **other: Any
) -> Workload:
    """Zipf prefixes of 256 tokens and private parts and answers of random lengths."""
    rng = np.random.default_rng(seed)
    wanted: dict[str, Any] = {
        "groups": groups,
        "prefix_tokens": 256,
        "private_tokens": rng.integers(20, 200, requests),
        "output_tokens": rng.integers(1, 80, requests),
        "skew": 1.0,
        "hash_block_tokens": 64,
        "seed": seed,
    }
    return zipf_prefixes(poisson(rate_per_s, requests=requests, seed=seed), **(wanted | other))


def talks(number: int, turns: int = 4, seed: int = 1, **other: Any) -> Workload:
    """Sessions with a common system prompt of 128 tokens."""
    wanted: dict[str, Any] = {
        "first_tokens": 100,
        "turn_tokens": 50,
        "output_tokens": np.random.default_rng(seed).integers(1, 90, number * turns),
        "think_s": 0.5,
        "start_rate_per_s": 20.0,
        "shared_prefix_tokens": 128,
        "hash_block_tokens": 64,
        "seed": seed,
    }
    return sessions(sessions=number, turns=turns, **(wanted | other))


def message(call: Callable[[], object]) -> str:
    """What a user reads when this input is refused."""
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.message
