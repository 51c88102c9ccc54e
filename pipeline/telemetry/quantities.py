"""One name for what engines count under names that differ by engine and version; looked up at run time.

Sources: vLLM 0.32 and 0.33 `v1/metrics/loggers.py`; TensorRT-LLM `tensorrt_llm/metrics/collector.py` (1.3)
for the Prometheus names, of which 1.2 has a few, and `telemetry.iterations` for what 1.2 gives as a list.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.telemetry.prometheus import Sample, increase

GIB = 2**30

# Quantity to metric names, the first that a server has counts.
COUNTERS: Mapping[str, tuple[str, ...]] = {
    "requests_finished": ("vllm:request_success_total", "trtllm_request_success_total"),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "cached_tokens": ("vllm:prompt_tokens_cached_total", "trtllm_prompt_cached_tokens_total"),
    "output_tokens": ("vllm:generation_tokens_total",),
    "preemptions": ("vllm:num_preemptions_total",),
    "prefix_queries": ("vllm:prefix_cache_queries_total",),
    "prefix_hits": ("vllm:prefix_cache_hits_total",),
    "blocks_reused": ("trtllm_kv_cache_reused_blocks_total", "trtllm_iteration_reused_blocks"),
    "blocks_missed": ("trtllm_kv_cache_missed_blocks_total", "trtllm_iteration_missed_blocks"),
    "offload_bytes": ("trtllm_kv_cache_offload_bytes_total", "trtllm_iteration_offload_bytes"),
    "onboard_bytes": ("trtllm_kv_cache_onboard_bytes_total", "trtllm_iteration_onboard_bytes"),
    "kv_moved_bytes": ("vllm:kv_offload_total_bytes_total", "vllm:kv_offload_bytes_total"),
}
HISTOGRAMS: Mapping[str, tuple[str, ...]] = {
    "queue_seconds": ("vllm:request_queue_time_seconds", "trtllm_request_queue_time_seconds"),
    "prefill_seconds": ("vllm:request_prefill_time_seconds",),
}
GAUGES: Mapping[str, tuple[str, ...]] = {
    "paused_requests": ("trtllm_iteration_paused_peak", "trtllm_num_paused_requests"),
    "pool_blocks": ("trtllm_kv_cache_max_blocks", "trtllm_iteration_max_blocks"),
    "block_tokens": ("trtllm_kv_cache_tokens_per_block", "trtllm_iteration_tokens_per_block"),
}


def grown(before: Sample, after: Sample, quantity: str) -> float | None:
    """How much a counted quantity grew; None where the engine does not count it.

    Raises:
        DataError: the counter went backwards, so the server was restarted in between.
    """
    for name in COUNTERS[quantity]:
        if after.get(name) is not None:
            return increase(before, after, name)
    return None


def histogram(before: Sample, after: Sample, quantity: str) -> tuple[float, float] | None:
    """(sum, count) that a histogram grew by; None where the engine does not have it."""
    for name in HISTOGRAMS[quantity]:
        total, count = increase(before, after, f"{name}_sum"), increase(before, after, f"{name}_count")
        if total is not None and count is not None:
            return total, count
    return None


def gauge(sample: Sample, quantity: str) -> float | None:
    """A value as it stands; None where the engine does not give it."""
    return next((v for name in GAUGES[quantity] if (v := sample.get(name)) is not None), None)


def pool(sample: Sample) -> tuple[int, int] | None:
    """The KV pool as the server states it: (blocks, tokens in a block); None where it does not."""
    blocks = sample.label("vllm:cache_config_info", "num_gpu_blocks")
    size = sample.label("vllm:cache_config_info", "block_size")
    if blocks is not None and size is not None and blocks.isdigit():
        return int(blocks), int(size)
    counted, tokens = gauge(sample, "pool_blocks"), gauge(sample, "block_tokens")
    return (int(counted), int(tokens)) if counted and tokens else None


def kv_moved_gib(before: Sample, after: Sample) -> float | None:
    """KV moved between GPU and host memory, both ways, GiB; None where the engine does not count it."""
    names = ("kv_moved_bytes", "offload_bytes", "onboard_bytes")
    known = [value for name in names if (value := grown(before, after, name)) is not None]
    return sum(known) / GIB if known else None
