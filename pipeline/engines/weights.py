"""One seeded Gaussian set of weights for a model folder, as safetensors that every engine reads.

Equal seeds give equal bytes on every machine with the same numpy release line: each tensor is drawn in pieces
from a counter-based generator keyed by seed, tensor and piece, so shards can be made in any order. A shard is
written under a temporary name and renamed, so an interrupted set goes on with the next shard.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.errors import InputError

SEED = 20261201
SPREAD = 0.02
"""Standard deviation, the initial one of the Llama and Qwen families."""
SHARD_BYTES = 4 * 2**30
PIECE = 2**24
INDEX = "model.safetensors.index.json"
Config = Mapping[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Tensor:
    """One tensor: its name, shape, and whether it is a norm (all ones)."""

    name: str
    shape: tuple[int, ...]
    norm: bool = False

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes, two each (bfloat16)."""
        return 2 * self.elements


def tensors(config: Config) -> list[Tensor]:
    """Every tensor of a Llama or Qwen3-MoE model, in the order of its layers."""
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    found = [Tensor("model.embed_tokens.weight", (vocabulary, hidden))]
    for number in range(config["num_hidden_layers"]):
        found += _layer(config, f"model.layers.{number}.")
    found.append(Tensor("model.norm.weight", (hidden,), norm=True))
    return [*found, Tensor("lm_head.weight", (vocabulary, hidden))]


def parameters(config: Config) -> int:
    """Number of parameters."""
    return sum(tensor.elements for tensor in tensors(config))


def size_gib(config: Config) -> float:
    """Size of the whole set, GiB."""
    return 2 * parameters(config) / 2**30


def make_weights(
    folder: Path, config: Config, say: Say, seed: int = SEED, shard_bytes: int = SHARD_BYTES
) -> Path:
    """Write what is missing of the set into a model folder.

    Args:
        folder: with config.json.
        config: its content.
        say: told of each shard.
        seed: of all tensors.
        shard_bytes: most bytes of a shard, unless one tensor is larger.

    Returns:
        The index file, which is written last: where it is, the set is whole.

    Raises:
        InputError: the architecture has no list of tensors here.
    """
    if (folder / INDEX).exists():
        return folder / INDEX
    if config["model_type"] not in ("llama", "qwen3_moe"):
        raise InputError(f"no list of tensors for a model of type {config['model_type']}")
    shards = list(_shards(tensors(config), shard_bytes))
    weight_map: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        path = folder / f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        weight_map |= {tensor.name: path.name for tensor in shard}
        if not path.exists():
            _write(path, shard, seed)
            say(f"weights: shard {number} of {len(shards)}, {path.stat().st_size / 2**30:.1f} GiB")
    total = sum(tensor.size for shard in shards for tensor in shard)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    partial = folder / f"{INDEX}.partial"
    partial.write_text(json.dumps(index, indent=1))
    partial.rename(folder / INDEX)
    return folder / INDEX


def _layer(config: Config, at: str) -> list[Tensor]:
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    found = [
        Tensor(f"{at}input_layernorm.weight", (hidden,), norm=True),
        Tensor(f"{at}post_attention_layernorm.weight", (hidden,), norm=True),
        Tensor(f"{at}self_attn.q_proj.weight", (queries, hidden)),
        Tensor(f"{at}self_attn.k_proj.weight", (keys, hidden)),
        Tensor(f"{at}self_attn.v_proj.weight", (keys, hidden)),
        Tensor(f"{at}self_attn.o_proj.weight", (hidden, queries)),
    ]
    if config["model_type"] != "qwen3_moe":
        return found + _mlp(f"{at}mlp.", hidden, config["intermediate_size"])
    found += [Tensor(f"{at}self_attn.{name}_norm.weight", (head,), norm=True) for name in "qk"]
    found.append(Tensor(f"{at}mlp.gate.weight", (config["num_experts"], hidden)))
    for expert in range(config["num_experts"]):
        found += _mlp(f"{at}mlp.experts.{expert}.", hidden, config["moe_intermediate_size"])
    return found


def _mlp(at: str, hidden: int, inner: int) -> list[Tensor]:
    return [
        Tensor(f"{at}gate_proj.weight", (inner, hidden)),
        Tensor(f"{at}up_proj.weight", (inner, hidden)),
        Tensor(f"{at}down_proj.weight", (hidden, inner)),
    ]


def _shards(found: Sequence[Tensor], most: int) -> Iterator[list[Tensor]]:
    shard: list[Tensor] = []
    for tensor in found:
        if shard and sum(each.size for each in shard) + tensor.size > most:
            yield shard
            shard = []
        shard.append(tensor)
    if shard:
        yield shard


def _write(path: Path, shard: Sequence[Tensor], seed: int) -> None:
    """One safetensors file: length of the header, header, then the tensors one after the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in shard:
        header[tensor.name] = {
            "dtype": "BF16",
            "shape": list(tensor.shape),
            "data_offsets": [end, end + tensor.size],
        }
        end += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        with ThreadPoolExecutor(max_workers=cpu_count() or 1) as pool:
            for tensor in shard:
                _write_tensor(file, tensor, seed, pool)
    partial.rename(path)


def _write_tensor(file: BinaryIO, tensor: Tensor, seed: int, pool: ThreadPoolExecutor) -> None:
    """Pieces are drawn side by side and written in order; a few at a time, so that memory stays small."""
    pieces = [(start, min(PIECE, tensor.elements - start)) for start in range(0, tensor.elements, PIECE)]
    step = 2 * (cpu_count() or 1)
    for first in range(0, len(pieces), step):
        drawn = pool.map(lambda piece: _piece(tensor, seed, *piece), pieces[first : first + step])
        for part in drawn:
            file.write(part)


def _piece(tensor: Tensor, seed: int, start: int, count: int) -> bytes:
    if tensor.norm:
        return bfloat16(np.ones(count, dtype=np.float32)).tobytes()
    key = hashlib.sha256(f"{seed} {tensor.name} {start}".encode()).digest()
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "little")))
    return bfloat16(generator.standard_normal(count, dtype=np.float32) * np.float32(SPREAD)).tobytes()


def bfloat16(values: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """Nearest bfloat16 (ties to even) of finite float32 values, as 16-bit patterns."""
    bits = values.view(np.uint32)
    rounded: np.ndarray[Any, np.dtype[np.uint16]] = (
        (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    ).astype(np.uint16)
    return rounded
