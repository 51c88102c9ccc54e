"""From a model's public `config.json` to its shape: what each kind of layer keeps of a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.schemas.catalogue import AttentionKind, KvGroup

Config = Mapping[str, Any]
NOT_MODELLED = "compressed and sparse attention, whose memory rule is not modelled here"
# DeepSeek's sparse attention keeps 128 8-bit elements and a 4-byte scale a token and layer for its index
# (vLLM, DeepseekV32IndexerCache).
INDEX_BYTES_PER_128 = 132
STATE_BYTES = 4
CONV_BYTES = 2


def text_part(config: Config) -> Config:
    """The language model of a multimodal config."""
    inner = config.get("text_config")
    return inner if isinstance(inner, Mapping) else config


def first(config: Config, *names: str) -> Any:
    """The first of these fields that is set, null if none is."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def head_dim(config: Config) -> int:
    """Elements of a head, as the config says or by division."""
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def kv_groups(config: Config) -> tuple[KvGroup, ...]:
    """What each kind of layer keeps of a request; empty where the rule is not modelled.

    Args:
        config: the text part of a Hugging Face `config.json`.
    """
    if str(config.get("model_type", "")).startswith("deepseek_v4") or "compress_ratios" in config:
        return ()
    rules: dict[str, Callable[[Config], tuple[KvGroup, ...]]] = {
        "linear_attn_config": _linear_latent,
        "kv_lora_rank": _latent,
        "block_configs": _per_block,
        "hybrid_override_pattern": _mamba,
        "layers_block_type": _mamba,
        "hybrid_layer_pattern": _windowed_pattern,
    }
    rule = next((rule for field, rule in rules.items() if config.get(field)), _by_layer_type)
    return rule(config)


def attention_kind(groups: tuple[KvGroup, ...], heads: int | None) -> AttentionKind:
    """The name of what the groups amount to."""
    kinds = {group.kind for group in groups}
    if not groups:
        return "unknown"
    if kinds <= {"latent", "index"}:
        return "mla"
    if kinds != {"full"}:
        return "hybrid"
    return "mha" if heads and all(group.kv_heads == heads for group in groups) else "gqa"


def kv_note(config: Config, groups: tuple[KvGroup, ...]) -> str | None:
    """What the rule leaves out."""
    if not groups:
        return NOT_MODELLED
    if config.get("attention_chunk_size") and not config.get("hybrid_layer_pattern"):
        return "chunked layers are counted as full ones: an upper bound"
    if config.get("sliding_window") and {group.kind for group in groups} == {"full"}:
        used = config.get("use_sliding_window", True)
        return "its sliding window is not counted: an upper bound" if used else None
    if config.get("sparse_attention_config"):
        return "the index of its sparse layers is not counted"
    return None


def _full(config: Config, layers: int) -> KvGroup:
    size = head_dim(config)
    kv_heads = first(config, "num_key_value_heads", "num_attention_heads")
    return KvGroup(kind="full", layers=layers, kv_heads=kv_heads, key_dim=size, value_dim=size)


def _latent(config: Config) -> tuple[KvGroup, ...]:
    layers, vector = config["num_hidden_layers"], config["kv_lora_rank"] + config["qk_rope_head_dim"]
    latent = KvGroup(kind="latent", layers=layers, key_dim=vector)
    if not config.get("index_head_dim"):
        return (latent,)
    index_bytes = config["index_head_dim"] // 128 * INDEX_BYTES_PER_128
    return latent, KvGroup(kind="index", layers=layers, fixed_bytes=index_bytes)


def _linear_latent(config: Config) -> tuple[KvGroup, ...]:
    linear = config["linear_attn_config"]
    full = len(linear["full_attn_layers"])
    vector = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    size = linear["num_heads"] * linear["head_dim"] ** 2 * STATE_BYTES
    states = config["num_hidden_layers"] - full
    return (
        KvGroup(kind="latent", layers=full, key_dim=vector),
        KvGroup(kind="state", layers=states, fixed_bytes=size),
    )


def _per_block(config: Config) -> tuple[KvGroup, ...]:
    """Searched models, whose layers have different numbers of KV heads, or none."""
    shared = [block["attention"].get("n_heads_in_group") for block in config["block_configs"]]
    counted = Counter(config["num_attention_heads"] // each for each in shared if each)
    size = head_dim(config)
    return tuple(
        KvGroup(kind="full", layers=layers, kv_heads=kv_heads, key_dim=size, value_dim=size)
        for kv_heads, layers in sorted(counted.items())
    )


def _mamba(config: Config) -> tuple[KvGroup, ...]:
    """Nemotron-H: `*` or attention, `M` or mamba, and layers that keep nothing."""
    pattern = first(config, "hybrid_override_pattern", "layers_block_type")
    attention = sum(each in ("*", "attention") for each in pattern)
    states = sum(each in ("M", "mamba") for each in pattern)
    inner = config["mamba_num_heads"] * config["mamba_head_dim"]
    groups = first(config, "n_groups", "mamba_n_groups") or 1
    convolved = inner + 2 * groups * config["ssm_state_size"]
    kernel = first(config, "conv_kernel", "mamba_d_conv") or 4
    size = inner * config["ssm_state_size"] * STATE_BYTES + convolved * (kernel - 1) * CONV_BYTES
    return _full(config, attention), KvGroup(kind="state", layers=states, fixed_bytes=size)


def _windowed_pattern(config: Config) -> tuple[KvGroup, ...]:
    """MiMo-V2: 0 is a full layer, 1 a window layer with sizes of its own."""
    windows = sum(config["hybrid_layer_pattern"])
    return (
        KvGroup(
            kind="full",
            layers=len(config["hybrid_layer_pattern"]) - windows,
            kv_heads=config["num_key_value_heads"],
            key_dim=config["head_dim"],
            value_dim=config["v_head_dim"],
        ),
        KvGroup(
            kind="window",
            layers=windows,
            kv_heads=config["swa_num_key_value_heads"],
            key_dim=config["swa_head_dim"],
            value_dim=config["swa_v_head_dim"],
            window_tokens=config["sliding_window"],
        ),
    )


def _by_layer_type(config: Config) -> tuple[KvGroup, ...]:
    kinds = Counter(config.get("layer_types") or ["full_attention"] * config["num_hidden_layers"])
    found = []
    if full := kinds.pop("full_attention", 0):
        found.append(_global(config, full))
    if windows := kinds.pop("sliding_attention", 0):
        window = _full(config, windows).model_dump() | {
            "kind": "window",
            "window_tokens": config["sliding_window"],
        }
        found.append(KvGroup.model_validate(window))
    if states := kinds.pop("linear_attention", 0):
        found.append(KvGroup(kind="state", layers=states, fixed_bytes=_delta_state(config)))
    return tuple(found) if not kinds else ()


def _global(config: Config, layers: int) -> KvGroup:
    """Full layers, which Gemma gives heads of their own size."""
    size = config.get("global_head_dim") or head_dim(config)
    heads = first(config, "num_global_key_value_heads", "num_key_value_heads", "num_attention_heads")
    return KvGroup(kind="full", layers=layers, kv_heads=heads, key_dim=size, value_dim=size)


def _delta_state(config: Config) -> int:
    """Bytes of a gated-delta layer's state and convolution, a request."""
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    state = values * config["linear_key_head_dim"] * STATE_BYTES
    kernel = config["linear_conv_kernel_dim"] - 1
    return int(state + (2 * keys + values) * kernel * CONV_BYTES)
