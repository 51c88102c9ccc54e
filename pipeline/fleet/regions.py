"""Regions: round trips from light in fibre, traffic between them and its price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pipeline.errors import InputError

Floats = np.ndarray[Any, np.dtype[np.float64]]

LIGHT_KM_S = 299_792.458
FIBRE = 1 / 1.468
"""Speed of light in standard single-mode fibre over that in vacuum: group index 1.468 at 1,550 nm."""
PATH = 1.8
"""Length of the way over the great circle: median of 26 measured round trips between regions of AWS, from
Hong Kong and Cape Town to 13 places each (matrix of cloudping.co, read December 2026; quartiles 1.66, 2.16).
It lies between the 1.3 of shortest conduits and the 2.1 of ordinary routes that Bozkurt and others give for
the United States (Dissecting Latency in the Internet's Fiber Infrastructure, arXiv 1811.10737). Over the
North Atlantic ways are straighter."""
OVERHEAD_MS = 1.0
"""Round trip within a region: 0.96 to 1.08 ms in the same matrix."""
EARTH_KM = 6371.0

REQUEST_BYTES = 2000.0
"""Headers and envelope of a request and its answer; an assumption."""
INPUT_TOKEN_BYTES = 4.0
"""Text of a prompt's token: about four characters of English (OpenAI, tokenizer help page)."""
OUTPUT_TOKEN_BYTES = 250.0
"""A token streamed alone in its JSON envelope, as an OpenAI-compatible server sends it; an assumption."""


@dataclass(frozen=True)
class Place:
    """A public cloud region: the city that stands for it, and the price of a GB from there to another."""

    latitude: float
    longitude: float
    usd_per_gb: float


# City coordinates to a tenth of a degree (ten kilometres, 0.1 ms). Prices: list price of data from one region
# of AWS to another, by the one it leaves (aws.amazon.com/ec2/pricing/on-demand; 0.02 to 0.138 USD in 2026).
PLACES = {
    "virginia": Place(39.0, -77.5, 0.02),
    "ohio": Place(40.0, -83.0, 0.02),
    "oregon": Place(45.8, -119.7, 0.02),
    "montreal": Place(45.5, -73.6, 0.02),
    "sao_paulo": Place(-23.5, -46.6, 0.138),
    "dublin": Place(53.3, -6.3, 0.02),
    "london": Place(51.5, -0.1, 0.02),
    "frankfurt": Place(50.1, 8.7, 0.02),
    "stockholm": Place(59.3, 18.1, 0.02),
    "mumbai": Place(19.1, 72.9, 0.086),
    "singapore": Place(1.3, 103.8, 0.09),
    "tokyo": Place(35.7, 139.7, 0.09),
    "sydney": Place(-33.9, 151.2, 0.098),
}


def _refuse(what: str, next_step: str | None = None) -> NoReturn:
    raise InputError(what, where="regions", next_step=next_step)


@dataclass(frozen=True, eq=False)
class Regions:
    """Where replicas and users are.

    Args:
        names: of the regions.
        replicas: in each; the fleet's replicas are numbered in this order.
        rtt_ms: float64[n, n], round trip between them, ms; symmetric.
        request_bytes: bytes of a request and answer beside their tokens.
        input_token_bytes: bytes of a prompt token.
        output_token_bytes: bytes of an answer token.
        usd_per_gb: float64[n, n], price of a GB (10**9 bytes) from a region (row) to another (column).

    Raises:
        InputError: shapes that do not fit, a negative or missing time or price.
    """

    names: tuple[str, ...]
    replicas: tuple[int, ...]
    rtt_ms: Floats
    request_bytes: float = REQUEST_BYTES
    input_token_bytes: float = INPUT_TOKEN_BYTES
    output_token_bytes: float = OUTPUT_TOKEN_BYTES
    usd_per_gb: Any = 0.0

    def __post_init__(self) -> None:
        number = len(self.names)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "replicas", tuple(int(count) for count in self.replicas))
        if number == 0 or len(set(self.names)) != number or len(self.replicas) != number:
            _refuse(f"{number} names for {len(self.replicas)} numbers of replicas", "give each region once")
        if min(self.replicas) < 0 or sum(self.replicas) < 1:
            _refuse(f"replicas {self.replicas}", "give at least one in all")
        for name in ("rtt_ms", "usd_per_gb"):
            self._settle(name, number)
        if not np.array_equal(self.rtt_ms, self.rtt_ms.T):
            _refuse("rtt_ms is not the same both ways")

    def _settle(self, name: str, number: int) -> None:
        given = np.asarray(getattr(self, name), np.float64)
        matrix = np.where(np.eye(number, dtype=bool), 0.0, given) if given.ndim == 0 else np.array(given)
        if matrix.shape != (number, number) or not (np.isfinite(matrix).all() and (matrix >= 0).all()):
            _refuse(f"{name} is no {number} x {number} matrix of numbers, zero or more")
        object.__setattr__(self, name, matrix)

    @property
    def number(self) -> int:
        """How many."""
        return len(self.names)

    @property
    def home(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """int32[replicas], region of each replica."""
        return np.repeat(np.arange(self.number, dtype=np.int32), self.replicas)

    @property
    def nearest(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """int32[n, n], for each region all regions by round trip, itself first."""
        away = self.rtt_ms + np.where(np.eye(self.number, dtype=bool), -np.inf, 0.0)
        return np.argsort(away, axis=1, kind="stable").astype(np.int32)

    def bytes_there(self, input_tokens: ArrayLike) -> Floats:
        """Bytes of requests on their way to a replica, half of the envelope included."""
        return self.request_bytes / 2 + self.input_token_bytes * np.asarray(input_tokens, np.float64)

    def bytes_back(self, output_tokens: ArrayLike) -> Floats:
        """Bytes of answers on their way back, half of the envelope included."""
        return self.request_bytes / 2 + self.output_token_bytes * np.asarray(output_tokens, np.float64)


def great_circle_km(one: Place, other: Place) -> float:
    """Distance over the sphere (haversine formula), km."""
    south, north = math.radians(one.latitude), math.radians(other.latitude)
    turn = math.radians(other.longitude - one.longitude)
    half = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin(turn / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half))


def round_trip_ms(one: Place, other: Place, path: float = PATH, overhead_ms: float = OVERHEAD_MS) -> float:
    """There and back at the speed of light in fibre, over `path` times the great circle; and overhead, ms."""
    return 2 * great_circle_km(one, other) * path / (LIGHT_KM_S * FIBRE) * 1000 + overhead_ms


def cloud_regions(
    names: Sequence[str],
    replicas: Sequence[int],
    *,
    path: float = PATH,
    overhead_ms: float = OVERHEAD_MS,
    request_bytes: float = REQUEST_BYTES,
) -> Regions:
    """Regions of a public cloud, with round trips from their distance and list prices of traffic.

    Args:
        names: of `PLACES`.
        replicas: in each.
        path: see `PATH`.
        overhead_ms: see `OVERHEAD_MS`.
        request_bytes: see `Regions`.
    """
    unknown = [name for name in names if name not in PLACES]
    if unknown:
        _refuse(f"unknown region {unknown[0]!r}", f"known: {', '.join(PLACES)}")
    places = [PLACES[name] for name in names]
    rtt = [[round_trip_ms(one, other, path, overhead_ms) for other in places] for one in places]
    price = [[0.0 if one is other else one.usd_per_gb for other in places] for one in places]
    times = np.asarray(rtt)
    return Regions(
        tuple(names), tuple(replicas), (times + times.T) / 2, request_bytes, usd_per_gb=np.asarray(price)
    )
