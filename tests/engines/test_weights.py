"""Made weights: the safetensors format by hand, equal bytes from equal seeds, and going on after a stop."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from pipeline.engines.models import CATALOGUE, kv_bytes_per_token, model_folder
from pipeline.engines.sizes import SIZES
from pipeline.engines.weights import INDEX, bfloat16, make_weights, parameters, tensors

TINY = SIZES["wb-8b"] | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 128,
}
SHARD = 16_384


def made(folder: Path, seed: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    make_weights(folder, TINY, lambda _line: None, seed, SHARD)
    return folder


def read(path: Path) -> tuple[dict[str, dict[str, list[int]]], bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def test_every_tensor_is_there_once_with_its_shape(tmp_path: Path) -> None:
    folder = made(tmp_path)
    index = json.loads((folder / INDEX).read_text())
    wanted = {tensor.name: list(tensor.shape) for tensor in tensors(TINY)}
    assert index["weight_map"].keys() == wanted.keys()
    assert index["metadata"]["total_size"] == 2 * parameters(TINY)
    assert len(set(index["weight_map"].values())) > 1, "several shards"
    for file in set(index["weight_map"].values()):
        header, body = read(folder / file)
        header.pop("__metadata__")
        assert (8 + len(json.dumps(header))) > 8
        assert max(each["data_offsets"][1] for each in header.values()) == len(body)
        assert {name: each["shape"] for name, each in header.items()} == {n: wanted[n] for n in header}


def test_values_are_gaussian_and_norms_are_ones(tmp_path: Path) -> None:
    folder = made(tmp_path)
    index = json.loads((folder / INDEX).read_text())["weight_map"]
    values = {}
    for name in ("lm_head.weight", "model.norm.weight"):
        header, body = read(folder / index[name])
        start, end = header[name]["data_offsets"]
        bits = np.frombuffer(body[start:end], dtype=np.uint16).astype(np.uint32) << 16
        values[name] = bits.view(np.float32)
    assert set(values["model.norm.weight"].tolist()) == {1.0}
    assert values["lm_head.weight"].std() == pytest.approx(0.02, rel=0.05)
    assert abs(float(values["lm_head.weight"].mean())) < 0.001


def test_equal_seeds_give_equal_bytes_and_a_stopped_set_goes_on(tmp_path: Path) -> None:
    whole = {path.name: path.read_bytes() for path in made(tmp_path / "one").iterdir()}
    other = made(tmp_path / "two")
    shards = sorted(other.glob("*.safetensors"))
    shards[1].unlink()
    (other / INDEX).unlink()
    kept = shards[0].stat().st_mtime_ns
    made(other)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == whole
    assert shards[0].stat().st_mtime_ns == kept, "what was whole is not made again"
    assert {p.name: p.read_bytes() for p in made(tmp_path / "three", seed=2).iterdir()} != whole


def test_rounding_to_bfloat16_is_to_nearest_even() -> None:
    values = np.array([1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8, -2.5], dtype=np.float32)
    assert bfloat16(values).tolist() == [0x3F80, 0x3F80, 0x3F82, 0xC020]


def test_size_classes_have_the_sizes_of_their_names() -> None:
    billions = {name: parameters(CATALOGUE[name]) / 1e9 for name in SIZES}
    assert billions["wb-8b"] == pytest.approx(8.03, abs=0.01)
    assert billions["wb-70b"] == pytest.approx(70.55, abs=0.01)
    assert billions["wb-moe-30b"] == pytest.approx(30.53, abs=0.01)
    assert kv_bytes_per_token("wb-8b") == 128 * 1024
    assert kv_bytes_per_token("wb-70b") == 320 * 1024
    assert kv_bytes_per_token("wb-8b", "fp8") == 64 * 1024


def test_a_prompt_is_one_token_a_character_in_a_large_vocabulary_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenizers import Tokenizer

    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path))
    tokenizer = Tokenizer.from_file(str(model_folder("wb-8b") / "tokenizer.json"))
    assert len(tokenizer.encode("aB3 ;x", add_special_tokens=False).ids) == 6
    assert tokenizer.get_vocab_size() == 128_256
    assert tokenizer.decode([128_255]) == "w128255", "what the model answers is visible text"
