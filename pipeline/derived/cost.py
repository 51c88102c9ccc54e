"""Money: of a request, of tokens, of memory that lies idle."""

from __future__ import annotations

from pipeline.derived.register import formula

HOUR_S = 3600
YEAR_S = 365 * 24 * HOUR_S


@formula("price x GPUs / 3600 / (rate x utilisation)", "USD a request", "definition")
def usd_per_request(
    usd_per_gpu_hour: float, gpus: int, requests_per_s: float, utilisation: float = 1.0
) -> float:
    """Cost of one request.

    Args:
        usd_per_gpu_hour: price.
        gpus: GPUs of the server.
        requests_per_s: requests that the server completes at full load.
        utilisation: share of that load which comes.
    """
    return usd_per_gpu_hour * gpus / HOUR_S / (requests_per_s * utilisation)


@formula("price / 3600 / tokens a second x 10^6", "USD a million tokens", "definition")
def usd_per_million_tokens(usd_per_gpu_hour: float, tokens_per_s_per_gpu: float) -> float:
    """Cost of a million output tokens.

    Args:
        usd_per_gpu_hour: price.
        tokens_per_s_per_gpu: output tokens a second and GPU.
    """
    return usd_per_gpu_hour / HOUR_S / tokens_per_s_per_gpu * 1e6


@formula("price / memory", "USD a GB and hour", "definition")
def usd_per_gb_hour(usd_per_gpu_hour: float, memory_gb: float) -> float:
    """What one GB of a rented card costs in an hour, used or idle."""
    return usd_per_gpu_hour / memory_gb


@formula(
    "GB x price / memory / 3600 x seconds",
    "USD a request",
    "the share of a card that lies idle while a request runs",
)
def usd_of_idle_memory(idle_gb: float, usd_per_gpu_hour: float, memory_gb: float, seconds: float) -> float:
    """What idle memory adds to a request that runs alone for so long.

    Args:
        idle_gb: memory that is rented and not used.
        usd_per_gpu_hour: price of the card.
        memory_gb: memory of the card.
        seconds: time of the request.
    """
    return idle_gb * usd_per_gb_hour(usd_per_gpu_hour, memory_gb) / HOUR_S * seconds


@formula("price of a request x rate x seconds of a year", "USD a year", "definition; a year of 365 days")
def usd_per_year(usd_each: float, requests_per_s: float) -> float:
    """What a price for each request comes to in a year."""
    return usd_each * requests_per_s * YEAR_S


@formula("1000 / tokens a second", "ms a token", "definition")
def token_budget_ms(tokens_per_s: float) -> float:
    """Time that a rate of tokens leaves for each."""
    return 1000 / tokens_per_s
