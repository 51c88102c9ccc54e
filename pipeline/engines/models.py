"""Model folders made on this machine: a config, and a tokenizer with one token a character.

The weights come from the engine's dummy loader, so speed does not depend on what they say. One token a
printable ASCII character makes every prompt length exact and every output token visible text.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import string
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from pipeline.errors import InputError
from pipeline.paths import cache_root

ALPHABET = string.ascii_letters + string.digits + string.punctuation + " "
SPECIAL = ["<s>", "</s>"]

# Turns follow each other without marks between them, so that chat prompts have exact lengths too.
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"

_COMMON = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": len(SPECIAL) + len(ALPHABET),
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "torch_dtype": "float32",
    "bos_token_id": 0,
    "eos_token_id": 1,
    "tie_word_embeddings": False,
}
CATALOGUE: dict[str, dict[str, object]] = {
    # 4 layers, 256 wide: cheap enough that scheduling, not arithmetic, is what a cell sees.
    "wb-small": _COMMON | {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4},
    # 8 layers, 512 wide: a missed prefix costs many hits, so routing shows in latency.
    "wb-large-24m": _COMMON | {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 8},
}


def model_folder(name: str) -> Path:
    """The folder of a catalogue model, made when absent; its path holds the hash of its content."""
    if name not in CATALOGUE:
        raise InputError(f"unknown model {name!r}", next_step=f"known: {', '.join(CATALOGUE)}")
    files = _files(name)
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:12]
    folder = cache_root() / "models" / f"{name}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent))
        for file, text in files.items():
            (temporary / file).write_text(text, encoding="utf-8")
        try:
            temporary.rename(folder)
        except OSError:  # another process made it first
            shutil.rmtree(temporary)
    return folder


def kv_bytes_per_token(name: str) -> int:
    """KV bytes of one token: 2 (key and value) x layers x KV heads x head size x 4 bytes (float32)."""
    config = CATALOGUE[name]
    layers, hidden = int(str(config["num_hidden_layers"])), int(str(config["hidden_size"]))
    heads, kv_heads = int(str(config["num_attention_heads"])), int(str(config["num_key_value_heads"]))
    return 2 * layers * kv_heads * (hidden // heads) * 4


def _files(name: str) -> dict[str, str]:
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": 2048,
        "chat_template": CHAT_TEMPLATE,
    }
    return {
        "config.json": json.dumps(CATALOGUE[name], indent=1),
        "tokenizer.json": _tokenizer(),
        "tokenizer_config.json": json.dumps(tokenizer_config, indent=1),
    }


def _tokenizer() -> str:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    visible = [byte_level.pre_tokenize_str(char)[0][0] for char in ALPHABET]
    vocabulary = {token: number for number, token in enumerate(SPECIAL + visible)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return str(tokenizer.to_str(pretty=False))
