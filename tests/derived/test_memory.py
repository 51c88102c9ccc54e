"""Bytes of weights and KV, against public totals and public logs."""

import pytest

from pipeline.catalogue import Catalogue, catalogue
from pipeline.derived.capacity import concurrent_requests, pool_tokens, smallest_layout
from pipeline.derived.memory import (
    GB,
    GIB,
    kv_bytes_per_token,
    kv_request_bytes,
    model_weight_bytes,
    weight_bytes,
)
from pipeline.derived.pools import tensorrt_llm_pool_bytes, vllm_pool_bytes
from pipeline.derived.tables.cases import kv_cases
from pipeline.paths import Workspace

# Printed with two decimals; Qwen3-235B is off by more for a reason its log does not tell.
ROUNDING = 0.002
UNEXPLAINED = 0.012


@pytest.fixture(scope="module")
def known() -> Catalogue:
    return catalogue(Workspace())


# Published totals, billions: model cards and technical reports.
TOTALS = {
    "llama-3.1-8b": 8.03,
    "llama-3.1-70b": 70.55,
    "llama-3.1-405b": 405.85,
    "qwen3-32b": 32.76,
    "qwen3-30b-a3b": 30.53,
    "qwen3-235b-a22b": 235.09,
    "deepseek-v3": 671.03,
    "kimi-k2-instruct": 1026.4,
    "gpt-oss-120b": 116.8,
    "gpt-oss-20b": 20.9,
    "mixtral-8x7b-v0.1": 46.70,
    "mixtral-8x22b-v0.1": 140.6,
}


@pytest.mark.parametrize(("name", "billions"), TOTALS.items())
def test_counted_parameters_are_the_published_totals(known: Catalogue, name: str, billions: float) -> None:
    assert known.model(name).parameters_b == pytest.approx(billions, rel=0.001)


# Bytes of one more token, 16 bits, one GPU.
PER_TOKEN = {
    "llama-2-7b": 524_288,
    "llama-3.1-8b": 131_072,
    "llama-3.1-70b": 327_680,
    "qwen3-30b-a3b": 98_304,
    "qwen3-32b": 262_144,
    "deepseek-r1": 70_272,
    "size-2.5b": 18_432,
}


@pytest.mark.parametrize(("name", "expected"), PER_TOKEN.items())
def test_kv_of_one_token(known: Catalogue, name: str, expected: int) -> None:
    assert kv_bytes_per_token(known.model(name).groups, 16) == expected


def test_the_public_memory_cases_are_met_exactly(known: Catalogue) -> None:
    llama = kv_bytes_per_token(known.model("llama-2-7b").groups, 16)
    assert pool_tokens(69_524_783_104, llama, 32) == 132_608
    qwen = kv_bytes_per_token(known.model("Qwen/Qwen3-Coder-30B-A3B-Instruct").groups, 16)
    assert qwen * 262_144 / GIB == 24.0


def test_every_public_log_is_met_within_its_rounding(known: Catalogue) -> None:
    cases = list(kv_cases(known))
    assert len({case.source for case in cases}) >= 10
    for case in cases:
        if case.tokens_error is not None and not case.hybrid:
            limit = UNEXPLAINED if "235B" in case.name else ROUNDING
            assert abs(case.tokens_error) <= limit, case.name
        if case.pool_error is not None:
            assert abs(case.pool_error) <= ROUNDING, case.name


def test_a_hybrid_models_logged_tokens_are_no_rate(known: Catalogue) -> None:
    (case,) = [case for case in kv_cases(known) if case.hybrid]
    assert case.tokens_error is not None
    assert case.tokens_error > 0.05


def test_tensor_parallelism_splits_heads_and_repeats_latent_vectors(known: Catalogue) -> None:
    llama, deepseek = known.model("llama-3.1-70b").groups, known.model("deepseek-r1").groups
    assert kv_bytes_per_token(llama, 16, 8) == 327_680 / 8
    assert kv_bytes_per_token(llama, 16, 16) == 327_680 / 8
    assert kv_bytes_per_token(deepseek, 16, 8) == 70_272


def test_windows_stop_growing_and_states_do_not_grow(known: Catalogue) -> None:
    oss = known.model("gpt-oss-120b").groups
    short, long = kv_request_bytes(oss, 128, 16), kv_request_bytes(oss, 1_128, 16)
    assert long - short == 1_000 * kv_bytes_per_token(oss, 16)
    hybrid = known.model("qwen3.5-27b").groups
    assert kv_request_bytes(hybrid, 0, 16) > 100 * 1024**2


def test_eight_bits_halve_kv(known: Catalogue) -> None:
    groups = known.model("llama-3.1-8b").groups
    assert kv_bytes_per_token(groups, 8) * 2 == kv_bytes_per_token(groups, 16)


def test_weights_by_bits_and_with_wide_embeddings(known: Catalogue) -> None:
    assert weight_bytes(70 * GB, 4) == 35 * GB
    fp8 = known.model("llama-3.1-8b")
    # TensorRT-LLM 0.20.0 printed 8.46 GB (2^30) for the 8-bit checkpoint, issue 6294.
    assert model_weight_bytes(fp8, 8) / GIB == pytest.approx(8.46, abs=0.01)
    assert model_weight_bytes(fp8) / GIB == pytest.approx(14.96, abs=0.01)


def test_each_engines_own_rule_for_its_pool() -> None:
    card, used = 80 * GIB, 20 * GIB
    assert vllm_pool_bytes(card, 0.9, used) / GIB == pytest.approx(52)
    assert tensorrt_llm_pool_bytes(card, 0.9, used) / GIB == pytest.approx(54)
    assert vllm_pool_bytes(card, 0.9, 90 * GIB) == 0
    assert tensorrt_llm_pool_bytes(card, 0.9, 90 * GIB) == 0


def test_requests_hold_whole_blocks(known: Catalogue) -> None:
    groups = known.model("llama-3.1-8b").groups
    pool = 131_072 * 64
    assert concurrent_requests(pool, groups, 16, 16, 1, 16) == 4
    assert concurrent_requests(pool, groups, 17, 16, 1, 16) == 2


def test_fewest_gpus_keep_heads_whole() -> None:
    layout = smallest_layout(1_080 * GB, 80 * GB, heads=48, layers=118)
    assert layout is not None
    assert layout.gpus >= 14
    assert 48 % layout.tp == 0
    assert smallest_layout(1 * GB, 80 * GB, heads=None, layers=None) is None
    assert smallest_layout(1_080 * GB, 2 * GB, heads=48, layers=118).gpus == 540  # type: ignore[union-attr]
