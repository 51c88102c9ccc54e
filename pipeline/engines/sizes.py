"""Size classes of the GPU lane: shapes of well-known open models, without their weights.

Shapes are those of the models' published config.json: Llama 3.2 1B, Llama 3.1 8B, Qwen3 32B, Llama 3.3 70B
and Qwen3 30B-A3B. Where one card cannot hold the 70B class, a quarter of its layers stands for it: cost and
memory of a layer are those of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping

MAX_TOKENS = 8192

_LLAMA: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "max_position_embeddings": MAX_TOKENS,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "bos_token_id": 0,
    "eos_token_id": 1,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
}


def _dense(hidden: int, inner: int, layers: int, heads: int, head_dim: int) -> dict[str, object]:
    """A Llama shape with eight KV heads."""
    return _LLAMA | {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 8,
        "head_dim": head_dim,
    }


_MOE: dict[str, object] = _LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "vocab_size": 151936,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "use_sliding_window": False,
}

SIZES: Mapping[str, dict[str, object]] = {
    "wb-1b": _dense(2048, 8192, 16, 32, 64),
    "wb-8b": _dense(4096, 14336, 32, 32, 128),
    "wb-32b": _dense(5120, 25600, 64, 64, 128) | {"vocab_size": 151936},
    "wb-70b": _dense(8192, 28672, 80, 64, 128),
    "wb-70b-quarter": _dense(8192, 28672, 20, 64, 128),
    "wb-moe-30b": _MOE,
}
