"""What engines and cards counted around one cell, as columns of its row."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pipeline.engines.models import kv_bytes_per_token
from pipeline.lanes.served import Served
from pipeline.lanes.workers import recomputed_tokens, scheduled_tokens
from pipeline.schemas.profile import PlannedCell
from pipeline.telemetry import quantities
from pipeline.telemetry.gpu import GpuSeen
from pipeline.telemetry.prometheus import Sample

GIB = 2**30


def pool_of(planned: PlannedCell, served: Served) -> dict[str, int | float | None]:
    """The pool as the server states it, not as it was asked for."""
    found = quantities.pool(served.after[0])
    if found is None:
        return {"kv_pool_blocks": None, "kv_pool_tokens": None, "kv_pool_gib": None}
    blocks, size = found
    engine = planned.cell.engine
    each = kv_bytes_per_token(engine.model, engine.kv_dtype) / engine.tensor_parallel
    return {
        "kv_pool_blocks": blocks,
        "kv_pool_tokens": blocks * size,
        "kv_pool_gib": blocks * size * each / GIB,
    }


def block_tokens(planned: PlannedCell, served: Served) -> int:
    """Tokens of a block: as asked, as the server states it, or one, for which the ceiling is the highest."""
    found = quantities.pool(served.after[0])
    return planned.cell.engine.block_size_tokens or (found[1] if found else 1)


def whole_cell(
    planned: PlannedCell, served: Served, outputs: int | None, duration_s: float | None
) -> dict[str, Any]:
    """What only the engines' own counters and the machine tell, so only for a cell as a whole.

    A count that the engine does not keep stays what the client counted.
    """
    counted = {name: grown(served, name) for name in ("prompt_tokens", "cached_tokens", "output_tokens")}
    prompt, cached, output = counted.values()
    scheduled = scheduled_tokens(served.logs)
    row: dict[str, Any] = {
        **{name: value for name, value in counted.items() if value is not None},
        "preemptions": grown(served, "preemptions"),
        "recomputed_tokens": recomputed_tokens(scheduled, prompt, cached, output, len(served.load.answered)),
        "queue_mean_ms": _histogram_mean_ms(served, "queue_seconds"),
        "prefill_mean_ms": _histogram_mean_ms(served, "prefill_seconds"),
        "paused_requests": _paused(served),
        "kv_offload_gib_moved": _moved_gib(served),
    }
    share = _hit_share(served)
    if share is not None or cached == 0:
        # With caching off the cache is never asked; the engine still counts cached tokens, and counts none.
        row["prefix_hit_rate"] = 0.0 if share is None else share
    if served.decisions:
        row |= {
            "router_prefix_hits": served.decisions.hits,
            "router_prefix_misses": served.decisions.misses,
            "router_missing_tokens": served.decisions.missing_tokens,
        }
    if served.memory:
        seen = served.memory
        row |= {
            "rss_before_gib": seen.before_gib,
            "rss_peak_gib": seen.peak_gib,
            "rss_after_gib": seen.after_gib,
            "kv_usage_peak": seen.kv_usage_peak,
        }
        row |= _gpu(planned, seen.gpu, outputs, duration_s)
    return row


def _gpu(
    planned: PlannedCell, seen: GpuSeen | None, outputs: int | None, duration_s: float | None
) -> dict[str, Any]:
    """What the cards did. Dummy weights may be any values, and power follows values: no tokens per watt."""
    if seen is None:
        return {}
    known = seen.power_mean_w and duration_s and outputs is not None
    compares = known and planned.cell.engine.weights != "dummy"
    watts = seen.power_mean_w or 1.0
    return asdict(seen) | {"tok_s_per_w": (outputs or 0) / (duration_s or 1.0) / watts if compares else None}


def grown(served: Served, quantity: str) -> int | None:
    """Growth of a counted quantity over all replicas; None where any of them lacks it."""
    parts = [quantities.grown(before, after, quantity) for before, after in _pairs(served)]
    known = [value for value in parts if value is not None]
    return int(sum(known)) if len(known) == len(parts) else None


def _pairs(served: Served) -> list[tuple[Sample, Sample]]:
    return list(zip(served.before, served.after, strict=True))


def _hit_share(served: Served) -> float | None:
    """Hits over look-ups of all replicas together, by tokens or by blocks."""
    queried, hits = grown(served, "prefix_queries"), grown(served, "prefix_hits")
    if queried is None or hits is None:
        reused, missed = grown(served, "blocks_reused"), grown(served, "blocks_missed")
        if reused is None or missed is None:
            return None
        queried, hits = reused + missed, reused
    return hits / queried if queried else None


def _paused(served: Served) -> int | None:
    values = [quantities.gauge(sample, "paused_requests") for sample in served.after]
    known = [value for value in values if value is not None]
    return int(max(known)) if known else None


def _moved_gib(served: Served) -> float | None:
    values = [quantities.kv_moved_gib(before, after) for before, after in _pairs(served)]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _histogram_mean_ms(served: Served, quantity: str) -> float | None:
    parts = [quantities.histogram(before, after, quantity) for before, after in _pairs(served)]
    known = [each for each in parts if each is not None]
    count = sum(each[1] for each in known)
    return 1000.0 * sum(each[0] for each in known) / count if len(known) == len(parts) and count else None
