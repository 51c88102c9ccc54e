"""Public logs against the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.catalogue import Catalogue
from pipeline.derived.capacity import pool_tokens
from pipeline.derived.memory import GIB, kv_bytes_per_token
from pipeline.derived.pools import BLOCK_TOKENS, POOL_RULES
from pipeline.schemas.catalogue import KvLog
from pipeline.schemas.derived import KvCaseRow


def kv_cases(known: Catalogue) -> Iterator[KvCaseRow]:
    """Each log with what the rules give for it, and the error."""
    for log in known.logs:
        tokens, pool = computed_tokens(log, known), computed_pool_gib(log)
        checks = [word for word, value in (("tokens", tokens), ("pool", pool)) if value is not None]
        yield KvCaseRow(
            name=log.name,
            engine=log.engine,
            engine_version=log.engine_version,
            model=log.model,
            tp=log.tp,
            checks=" and ".join(checks),  # type: ignore[arg-type]
            logged_tokens=log.tokens,
            computed_tokens=tokens,
            tokens_error=tokens / log.tokens - 1 if tokens is not None and log.tokens else None,
            logged_pool_gib=log.pool_gib,
            computed_pool_gib=pool,
            pool_error=pool / log.pool_gib - 1 if pool is not None else None,
            hybrid=log.hybrid,
            source=log.source,
            dated=log.dated,
        )


def computed_tokens(log: KvLog, known: Catalogue) -> int | None:
    """Tokens that the printed pool holds; null where the log names no model or no tokens."""
    if log.model is None or log.tokens is None:
        return None
    each = kv_bytes_per_token(known.model(log.model).groups, log.kv_bits, log.tp)
    return pool_tokens(log.pool_gib * GIB, each, BLOCK_TOKENS[log.engine])


def computed_pool_gib(log: KvLog) -> float | None:
    """Pool by the engine's rule; null where the log does not print what goes in.

    A log of TensorRT-LLM prints what is left after the weights, one of vLLM the whole card and its peak.
    """
    if log.memory_gib is None or log.fraction is None:
        return None
    return POOL_RULES[log.engine](log.memory_gib * GIB, log.fraction, (log.used_gib or 0.0) * GIB) / GIB
