"""Counting a model's parameters from its config, for the families whose published totals check the count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.catalogue.config import first, head_dim

Config = Mapping[str, Any]
COUNTED = frozenset(
    {
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "Qwen3MoeForCausalLM",
        "MixtralForCausalLM",
        "MiMoForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "KimiK25ForConditionalGeneration",
        "GptOssForCausalLM",
        "GlmMoeDsaForCausalLM",
        "MiniMaxM2ForCausalLM",
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
    }
)
_IN_NAME = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)(B|T)(?![a-z])", re.IGNORECASE)
_ACTIVE_IN_NAME = re.compile(r"-A(\d+(?:\.\d+)?)B", re.IGNORECASE)


@dataclass(frozen=True)
class Count:
    """Parameters, absolute.

    Attributes:
        total: all of them, prediction heads for speculative decoding left out.
        active: used for one token.
        wide: embedding and output head, which quantised checkpoints keep at 16 bits.
        experts: routed experts, which some checkpoints quantise alone.
    """

    total: float
    active: float
    wide: float
    experts: float = 0.0


def count(config: Config) -> Count:
    """Parameters by counting, as of a model with gated feed-forward layers; exact for `COUNTED` families.

    Args:
        config: the text part of a `config.json`.

    Raises:
        KeyError: a size that the count needs is not in the config.
    """
    embedding = config["vocab_size"] * config["hidden_size"] * (1 if config.get("tie_word_embeddings") else 2)
    layers = config["num_hidden_layers"]
    attention = layers * (_attention(config) + 2 * config["hidden_size"])
    dense = _dense_layers(config)
    fixed = embedding + attention + dense * _dense_mlp(config)
    routed = layers - dense
    if not routed:
        return Count(fixed, fixed, embedding)
    experts, chosen = _experts(config), _chosen(config)
    shared = routed * (_shared(config) + experts * config["hidden_size"])
    each = _expert_mlp(config)
    # The input embedding is looked up, not multiplied, so a token does not use it.
    looked_up = config["vocab_size"] * config["hidden_size"]
    held, used = routed * experts * each, routed * chosen * each
    return Count(fixed + shared + held, fixed + shared + used - looked_up, embedding, held)


def from_name(name: str) -> tuple[float, float | None] | None:
    """Total and active parameters as a model's name states them, e.g. `Qwen3.5-122B-A10B`."""
    sizes = [float(size) * (1e12 if unit in "tT" else 1e9) for size, unit in _IN_NAME.findall(name)]
    if not sizes:
        return None
    active = _ACTIVE_IN_NAME.search(name)
    return max(sizes), float(active[1]) * 1e9 if active else None


def _attention(config: Config) -> int:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    if config.get("kv_lora_rank"):
        return _latent_attention(config)
    size = head_dim(config)
    kv_heads = first(config, "num_key_value_heads", "num_attention_heads")
    return int(hidden * size * (2 * heads + 2 * kv_heads))


def _latent_attention(config: Config) -> int:
    hidden, heads, rank = config["hidden_size"], config["num_attention_heads"], config["kv_lora_rank"]
    query = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    q_rank = config.get("q_lora_rank")
    queries = q_rank * (hidden + heads * query) if q_rank else hidden * heads * query
    down = hidden * (rank + config["qk_rope_head_dim"])
    up = rank * heads * (config["qk_nope_head_dim"] + config["v_head_dim"])
    return int(queries + down + up + heads * config["v_head_dim"] * hidden)


def _dense_layers(config: Config) -> int:
    if not _experts(config):
        return int(config["num_hidden_layers"])
    return int(config.get("first_k_dense_replace") or 0)


def _dense_mlp(config: Config) -> int:
    return int(3 * config["hidden_size"] * (config.get("intermediate_size") or 0))


def _expert_mlp(config: Config) -> int:
    width = first(config, "routed_expert_hidden_size", "hidden_size")
    return int(3 * width * first(config, "moe_intermediate_size", "intermediate_size"))


def _experts(config: Config) -> int:
    return int(first(config, "num_experts", "num_local_experts", "n_routed_experts") or 0)


def _chosen(config: Config) -> int:
    return int(first(config, "num_experts_per_tok", "num_experts_per_token", "experts_per_token") or 0)


def _shared(config: Config) -> int:
    return int(first(config, "n_shared_experts", "num_shared_experts") or 0) * _expert_mlp(config)
