"""Model folders made on this machine: a config, a tokenizer with one token a character, weights if wanted.

On the cpu lane weights come from the engine's dummy loader; the GPU lane makes one set for both engines.
One token a printable ASCII character makes every prompt length exact and every output token visible text.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import string
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from pipeline.engines import weights
from pipeline.engines.sizes import SIZES
from pipeline.environments.machine import require_room
from pipeline.errors import InputError
from pipeline.paths import cache_root
from pipeline.schemas.words import KvType

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
    **SIZES,
}
_BYTES_OF = {"float32": 4, "bfloat16": 2, "float16": 2}
_OWN: dict[str, Path] = {}


def model_folder(name: str) -> Path:
    """The folder of a catalogue model, made when absent; its path holds the hash of its content."""
    if name not in CATALOGUE:
        raise InputError(f"unknown model {name!r}", next_step=f"known: {', '.join(CATALOGUE)}")
    folder, files = _place(name), _files(name)
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


def weighted_folder(name: str, say: weights.Say = lambda _line: None) -> Path:
    """The folder of a catalogue model with its Gaussian weights in it; what is missing is made.

    Raises:
        InputError: no such model.
        EnvironmentMissing: the disk has no room for the weights.
    """
    folder = model_folder(name)
    if not (folder / weights.INDEX).exists():
        require_room(f"the weights of {name}", weights.size_gib(CATALOGUE[name]))
    weights.make_weights(folder, CATALOGUE[name], say)
    return folder


def has_weights(name: str) -> bool:
    """Whether the Gaussian weights of a catalogue model are whole."""
    return (_place(name) / weights.INDEX).exists()


def know_own(name: str, folder: Path) -> None:
    """Make an owner's model known by name, so that its shape can be asked for."""
    _OWN[name] = folder


def _config(name: str) -> Mapping[str, object]:
    if name in CATALOGUE:
        return CATALOGUE[name]
    if name not in _OWN:
        raise InputError(f"unknown model {name!r}", next_step=f"known: {', '.join(CATALOGUE)}")
    path = _OWN[name] / "config.json"
    try:
        found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the model {name} has no readable config.json: {error}", where=str(path)) from None
    return found


def kv_bytes_per_token(name: str, kv_dtype: KvType = "auto") -> int:
    """KV bytes of one token: 2 (key and value) x layers x KV heads x head size x bytes of the type."""
    config = _config(name)
    layers, hidden = int(str(config["num_hidden_layers"])), int(str(config["hidden_size"]))
    heads, kv_heads = int(str(config["num_attention_heads"])), int(str(config["num_key_value_heads"]))
    head = int(str(config.get("head_dim", hidden // heads)))
    stored = str(config.get("torch_dtype") or config.get("dtype") or "bfloat16")
    each = 1 if kv_dtype == "fp8" else _BYTES_OF[stored]
    return 2 * layers * kv_heads * head * each


def _place(name: str) -> Path:
    digest = hashlib.sha256("".join(_files(name).values()).encode()).hexdigest()[:12]
    return cache_root() / "models" / f"{name}-{digest}"


@cache
def _files(name: str) -> dict[str, str]:
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": CATALOGUE[name]["max_position_embeddings"],
        "chat_template": CHAT_TEMPLATE,
    }
    return {
        "config.json": json.dumps(CATALOGUE[name], indent=1),
        "tokenizer.json": _tokenizer(int(str(CATALOGUE[name]["vocab_size"]))),
        "tokenizer_config.json": json.dumps(tokenizer_config, indent=1),
    }


def _tokenizer(size: int) -> str:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    visible = [byte_level.pre_tokenize_str(char)[0][0] for char in ALPHABET]
    vocabulary = {token: number for number, token in enumerate(SPECIAL + visible)}
    # No prompt reaches these, but a model of this size answers with them: their text must be visible too.
    vocabulary |= {f"w{number}": number for number in range(len(vocabulary), size)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return str(tokenizer.to_str(pretty=False))
