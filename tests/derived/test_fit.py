"""`weighbridge fit` and `weighbridge cost`, as a person or script meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli.app import main

KEYS = {
    "weights_gib_per_gpu",
    "kv_bytes_per_token_per_gpu",
    "kv_pool_gib_per_gpu",
    "kv_pool_tokens",
    "max_concurrent_requests",
    "fits",
    "notes",
}
LLAMA_2 = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--format", "json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_public_case_through_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", "llama-2-7b", "--gpu", "a100", "--engine", "tensorrt_llm", "--kv-pool-gib", "64.75"]
    found = asked(capsys, *words)
    assert found.keys() >= KEYS
    assert found["kv_bytes_per_token_per_gpu"] == 524_288
    assert found["kv_pool_tokens"] == 132_608
    assert found["fits"] is True


def test_a_config_file_gives_what_the_catalogue_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA_2))
    words = ["--gpu", "h100_sxm", "--engine", "vllm"]
    from_file = asked(capsys, "fit", str(path), *words)
    from_name = asked(capsys, "fit", "meta-llama/Llama-2-7b-hf", *words)
    for key in KEYS - {"notes"}:
        assert from_file[key] == pytest.approx(from_name[key], rel=1e-4)


QWEN_25 = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "sliding_window": 131072,
    "use_sliding_window": False,
}


def test_a_config_that_is_not_in_the_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN_25))
    found = asked(capsys, "fit", str(path), "--gpu", "l40s")
    # Qwen2.5-7B: 7.62 billion parameters, 56 KiB of KV a token.
    assert found["weights_gib_per_gpu"] == pytest.approx(7.615e9 * 2 / 1024**3, rel=0.001)
    assert found["kv_bytes_per_token_per_gpu"] == 57_344
    path.write_text(json.dumps(QWEN_25 | {"architectures": ["SomethingNewForCausalLM"]}))
    unknown = asked(capsys, "fit", str(path), "--gpu", "l40s")
    assert unknown["weights_gib_per_gpu"] == found["weights_gib_per_gpu"]
    assert "Llama-like" in str(unknown["notes"])


def test_a_model_too_large_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "fit", "llama-3.1-70b", "--gpu", "rtx_4090")
    assert found["fits"] is False
    assert "does not fit" in str(found["notes"])
    assert found["max_concurrent_requests"] == 0


def test_defaults_are_the_engines_own(capsys: pytest.CaptureFixture[str]) -> None:
    vllm = asked(capsys, "fit", "qwen3-8b", "--gpu", "h100", "--engine", "vllm")
    other = asked(capsys, "fit", "qwen3-8b", "--gpu", "h100", "--engine", "tensorrt_llm")
    assert (vllm["memory_fraction"], other["memory_fraction"]) == (0.92, 0.9)
    assert float(vllm["reserved_gib_per_gpu"]) == pytest.approx(0.92 * 79.22, abs=0.01)  # type: ignore[arg-type]


def test_text_answers_in_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "gpt-oss-120b", "--gpu", "h100", "--context", "8192"]) == 0
    out = capsys.readouterr().out
    assert "fits" in out
    assert "hybrid model" in out
    assert len(out.splitlines()) < 15


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["fit", "lama-3.1-8b", "--gpu", "h100"], "did you mean llama-3.1-8b?"),
        (["fit", "qwen3-8b", "--gpu", "h10"], "did you mean h100"),
        (["fit", "qwen3-8b", "--gpu", "h100", "--tp", "3"], "do not divide the 32 heads"),
        (["fit", "qwen3-8b", "--gpu", "h100", "--memory-fraction", "1.5"], "memory-fraction"),
        (["fit", "nowhere/config.json", "--gpu", "h100"], "cannot be read"),
        (["cost", "size-540b", "--gpu", "h100_sxm"], "does not fit"),
        (["cost", "qwen3-8b", "--gpu", "a10"], "no price for a10"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert hint in told
    assert "Traceback" not in told


def test_a_config_that_describes_no_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"architectures": ["LlamaForCausalLM"]}')
    assert main(["fit", str(path), "--gpu", "h100"]) == 2
    assert "does not describe a model" in capsys.readouterr().err
    path.write_text("no JSON")
    assert main(["fit", str(path), "--gpu", "h100"]) == 2
    told = capsys.readouterr().err
    assert "the config is no JSON" in told
    assert "next:  give a Hugging Face config.json" in told


def test_cost_from_a_measured_throughput(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cost", "llama-3.1-70b", "--gpu", "h200_sxm", "--tp", "2", "--tok-s-per-gpu", "2587"]
    found = asked(capsys, *words)
    assert found["usd_per_request"] == pytest.approx(3.59 / 3600 / 2587 * 1000)
    assert found["price_dated"] == "2026-03-10"


def test_the_floor_is_below_any_measured_cost(capsys: pytest.CaptureFixture[str]) -> None:
    floor = asked(capsys, *["cost", "llama-3.1-70b", "--gpu", "h200_sxm", "--tp", "2", "--weight-bits", "8"])
    bound = float(floor["tok_s_per_gpu_bound"])  # type: ignore[arg-type]
    # NVIDIA's published 2,587 output tokens/s and GPU, Llama-3.3-70B FP8, H200 TP2, 1000/1000.
    assert bound > 2587
