"""Bytes of weights and of KV."""

from __future__ import annotations

import math

from pipeline.derived.register import formula
from pipeline.schemas.catalogue import KvGroup, Model

GIB = 1024**3
GB = 1e9
WIDE_BITS = 16


@formula("parameters x bits / 8", "B", "definition; the scales of a format are part of its bits")
def weight_bytes(parameters: float, bits: float) -> float:
    """Bytes of weights that all have one width.

    Args:
        parameters: number of weights.
        bits: bits of a weight, scales included.
    """
    return parameters * bits / 8


@formula(
    "(parameters - wide) x bits / 8 + wide x 2",
    "B",
    "public checkpoints keep embeddings, or all but the experts, at 16 bits (TensorRT-LLM issue 6294)",
)
def checkpoint_bytes(parameters: float, wide_parameters: float, bits: float) -> float:
    """Bytes of a checkpoint that keeps some of its weights at 16 bits.

    Args:
        parameters: number of weights.
        wide_parameters: those kept at 16 bits.
        bits: bits of the other weights, scales included.
    """
    wide = min(wide_parameters, parameters)
    return weight_bytes(parameters - wide, bits) + weight_bytes(wide, max(bits, WIDE_BITS))


@formula(
    "KV heads of a GPU = max(1, KV heads / TP)",
    "heads",
    "vLLM and TensorRT-LLM replicate a KV head when TP exceeds them",
)
def kv_heads_per_gpu(kv_heads: int, tp: int) -> int:
    """KV heads that one GPU of a tensor-parallel group keeps."""
    return max(1, math.ceil(kv_heads / tp))


@formula(
    "full: layers x KV heads of the GPU x (key + value) x bits / 8; latent: layers x vector x bits / 8",
    "B a token and GPU",
    "attention as defined (arXiv:1706.03762, 2305.13245, 2405.04434); public logs in view kv_cases",
)
def kv_bytes_per_token(groups: tuple[KvGroup, ...], kv_bits: float, tp: int = 1) -> int:
    """Bytes that one more token costs on each GPU, once windows are full.

    Args:
        groups: layers by kind; windows and states do not grow, a latent vector is on every GPU in full.
        kv_bits: bits of a KV element.
        tp: tensor parallelism.
    """
    growing = (_token_bytes(group, kv_bits, tp) for group in groups if group.kind not in ("window", "state"))
    return math.ceil(sum(growing))


@formula(
    "growing bytes x tokens + window bytes x min(tokens, window) + state bytes",
    "B a request and GPU",
    "as above; sliding windows keep their last tokens only, states have a fixed size (arXiv:2405.21060)",
)
def kv_request_bytes(groups: tuple[KvGroup, ...], tokens: int, kv_bits: float, tp: int = 1) -> float:
    """Bytes that a request of this length keeps on each GPU.

    Args:
        groups: layers by kind.
        tokens: prompt plus output.
        kv_bits: bits of a KV element.
        tp: tensor parallelism.
    """
    growing = kv_bytes_per_token(groups, kv_bits, tp) * tokens
    windows = sum(
        _token_bytes(group, kv_bits, tp) * min(tokens, group.window_tokens)
        for group in groups
        if group.kind == "window"
    )
    states = sum(group.layers * group.fixed_bytes / tp for group in groups if group.kind == "state")
    return growing + windows + states


def _token_bytes(group: KvGroup, kv_bits: float, tp: int) -> float:
    if group.kind == "index":
        return group.layers * group.fixed_bytes
    heads = 1 if group.kind == "latent" else kv_heads_per_gpu(group.kv_heads, tp)
    return group.layers * heads * (group.key_dim + group.value_dim) * kv_bits / 8


def model_weight_bytes(model: Model, bits: float | None = None) -> float:
    """Bytes of a model's weights, at the checkpoint's width or at another.

    Args:
        model: catalogue entry.
        bits: bits of a quantised weight; the checkpoint's if null.
    """
    width = model.weight_bits if bits is None else bits
    return checkpoint_bytes(model.parameters_b * GB, model.wide_b * GB, width)
