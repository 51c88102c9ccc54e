"""How large each engine makes its KV pool, by its own rule."""

from __future__ import annotations

from pipeline.derived.register import formula

# vLLM 0.32.0, config/cache.py; TensorRT-LLM, KvCacheConfig.free_gpu_memory_fraction.
DEFAULT_FRACTION = {"vllm": 0.92, "tensorrt_llm": 0.90}
BLOCK_TOKENS = {"vllm": 16, "tensorrt_llm": 32}
# Activations, CUDA graphs and what lies outside the allocator, one GPU. The logs in `kv_logs.toml` that print
# it show 2.4 to 3.3 GiB. Both engines profile fewer tokens at once on smaller cards (vLLM 0.32.0: 2,048 below
# 70 GiB, 8,192 above), so half is assumed there. It is an assumption: `--overhead-gib` replaces it.
LARGE_CARD_GIB = 70.0
ASSUMED_OVERHEAD_GIB = 3.0
ASSUMED_OVERHEAD_SMALL_GIB = 1.5


def assumed_overhead_gib(card_gib: float) -> float:
    """What a GPU is assumed to hold besides weights and KV, GiB.

    Args:
        card_gib: memory of the card.
    """
    return ASSUMED_OVERHEAD_GIB if card_gib >= LARGE_CARD_GIB else ASSUMED_OVERHEAD_SMALL_GIB


@formula(
    "fraction x whole card - (weights + overhead)",
    "B a GPU",
    "vLLM 0.32.0, v1/worker/utils.py and gpu_worker.py: a share of the total, less the profiled peak",
)
def vllm_pool_bytes(card_bytes: float, fraction: float, used_bytes: float) -> float:
    """KV pool of vLLM: a share of the whole card, less the profiled peak.

    Args:
        card_bytes: memory of the card.
        fraction: gpu_memory_utilization.
        used_bytes: weights, activations, graphs and the rest.
    """
    return max(0.0, fraction * card_bytes - used_bytes)


@formula(
    "fraction x (whole card - weights - overhead)",
    "B a GPU",
    "TensorRT-LLM: _torch/pyexecutor/_util.py, KvCacheCreator (fraction x (total - peak)); default 0.9",
)
def tensorrt_llm_pool_bytes(card_bytes: float, fraction: float, used_bytes: float) -> float:
    """KV pool of TensorRT-LLM: a share of what is left.

    Args:
        card_bytes: memory of the card.
        fraction: kv_cache_free_gpu_memory_fraction.
        used_bytes: weights, activations, graphs and the rest.
    """
    return max(0.0, fraction * (card_bytes - used_bytes))


POOL_RULES = {"vllm": vllm_pool_bytes, "tensorrt_llm": tensorrt_llm_pool_bytes}
