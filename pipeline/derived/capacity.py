"""What fits: tokens of a pool, requests at once, GPUs for a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipeline.derived.memory import kv_request_bytes
from pipeline.derived.register import formula
from pipeline.schemas.catalogue import KvGroup


@formula(
    "floor(pool / (bytes a token x block)) x block",
    "tokens",
    "both engines hand out whole blocks (16 and 32 tokens)",
)
def pool_tokens(pool_bytes: float, token_bytes: float, block_tokens: int) -> int:
    """Tokens that fit a pool of whole blocks.

    Args:
        pool_bytes: KV pool of a GPU.
        token_bytes: bytes a token and GPU; not for hybrid models, whose cost is no rate.
        block_tokens: tokens in a block.
    """
    return math.floor(pool_bytes / (token_bytes * block_tokens)) * block_tokens


@formula("ceil(tokens / block) x block", "tokens", "definition of a block")
def in_blocks(tokens: int, block_tokens: int) -> int:
    """Tokens of the blocks that a request holds."""
    return math.ceil(tokens / block_tokens) * block_tokens


@formula(
    "floor(pool / bytes of a request)", "requests", "each request holds its whole length: no prefix is shared"
)
def concurrent_requests(
    pool_bytes: float, groups: tuple[KvGroup, ...], tokens: int, kv_bits: float, tp: int, block_tokens: int
) -> int:
    """Requests of one length that fit at once.

    Args:
        pool_bytes: KV pool of a GPU.
        groups: layers by kind.
        tokens: prompt plus output.
        kv_bits: bits of a KV element.
        tp: tensor parallelism.
        block_tokens: tokens in a block.
    """
    each = kv_request_bytes(groups, in_blocks(tokens, block_tokens), kv_bits, tp)
    return math.floor(pool_bytes / each)


@formula("ceil(weights / memory of a GPU)", "GPUs", "weights alone, the least that any layout needs")
def gpus_for_bytes(weight_bytes: float, gpu_bytes: float) -> int:
    """Smallest number of GPUs whose memory holds the weights and nothing else."""
    return math.ceil(weight_bytes / gpu_bytes)


@dataclass(frozen=True)
class Layout:
    """A way to spread a model: tensor parallelism inside stages, stages one after the other."""

    tp: int
    stages: int

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return self.tp * self.stages


def divides(heads: int | None, tp: int) -> bool:
    """Whether a tensor-parallel group of this size splits the heads evenly, as both engines require."""
    return heads is not None and heads % tp == 0


@formula(
    "smallest TP x stages >= GPUs for the weights, TP dividing the heads and at most one node",
    "GPUs",
    "vLLM and TensorRT-LLM refuse a tensor parallelism that does not divide the attention heads",
)
def smallest_layout(
    weight_bytes: float, gpu_bytes: float, heads: int | None, layers: int | None, per_node: int = 8
) -> Layout | None:
    """Fewest GPUs that hold the weights with whole heads on each.

    Args:
        weight_bytes: weights of the model.
        gpu_bytes: memory of a GPU that weights may take.
        heads: query heads; unknown gives no layout.
        layers: layers, the most stages there can be.
        per_node: GPUs that one tensor-parallel group may span.

    Returns:
        The layout with fewest GPUs, then with least stages; null where none exists.
    """
    if heads is None or layers is None:
        return None
    needed = gpus_for_bytes(weight_bytes, gpu_bytes)
    options = [
        Layout(tp, math.ceil(needed / tp))
        for tp in range(1, per_node + 1)
        if divides(heads, tp) and math.ceil(needed / tp) <= layers
    ]
    return min(options, key=lambda each: (each.gpus, each.stages), default=None)
