"""The real package against golden values; without its environment the committed tables are all there is."""

from __future__ import annotations

import pytest

from pipeline.analysis.views import query
from pipeline.environments import environment
from pipeline.errors import EnvironmentMissing
from pipeline.lanes.modelled.ask import Job, ask
from pipeline.paths import Workspace

LLAMA = "nvidia/Llama-3.1-70B-Instruct-FP8"
POINT = ((1024, 1024, 16),)


def test_golden_values_of_the_package() -> None:
    jobs = [
        Job("vllm", LLAMA, "h100_sxm", "vllm", 4, POINT),
        Job("fp8 on A100", LLAMA, "a100_sxm", "vllm", 4, POINT),
        Job("unknown model", "nobody/nothing", "h100_sxm", "vllm", 1, POINT),
        Job("unknown GPU", LLAMA, "h999_sxm", "vllm", 4, POINT),
        Job("too small", LLAMA, "h100_sxm", "vllm", 1, ((1024, 1024, 256),)),
    ]
    try:
        python = environment("aiconfigurator").python
    except EnvironmentMissing:
        pytest.skip("the environment aiconfigurator is not set up")
    answers = ask(python, jobs, lambda _: None)
    found = answers["vllm"].points[0]
    assert found is not None
    assert found[:2] == pytest.approx([206.0173, 11.85381], rel=1e-4)
    assert answers["vllm"].labels["gemm_quant_mode"] == "fp8_static"
    assert answers["fp8 on A100"].points == [None]
    reason = answers["fp8 on A100"].reasons[0]
    assert reason is not None
    assert reason.startswith("the GPU does not compute this format")
    assert answers["unknown model"].error
    assert answers["unknown GPU"].error == (
        "the package measured no kernels of this engine, version and GPU: vllm 0.24.0 on h999_sxm"
    )
    assert answers["too small"].points[0][4] is False  # type: ignore[index]


def test_golden_values_of_the_committed_grid() -> None:
    found = query(
        Workspace(),
        "SELECT engine, ttft_ms, tpot_ms FROM modelled WHERE model = 'llama-3.1-70b' AND precision = 'fp8' "
        "AND gpu = 'H100' AND tp = 4 AND kv_dtype = 'fp8' AND isl = 1024 AND osl = 1024 AND batch = 16 "
        "ORDER BY engine",
    )
    assert found.to_dict("records") == [
        {"engine": "tensorrt_llm", "ttft_ms": 149.0, "tpot_ms": 11.2},
        {"engine": "vllm", "ttft_ms": 206.0, "tpot_ms": 11.85},
    ]


def test_the_committed_grid_is_wide_and_every_row_explains_itself() -> None:
    [row] = query(
        Workspace(),
        "SELECT count(*) FILTER (WHERE status = 'ok') >= 20000 AS enough, count(DISTINCT gpu) AS gpus, "
        "count(*) FILTER (WHERE tpot_ms IS NULL AND reason = '') AS unexplained, "
        "count(*) FILTER (WHERE tpot_ms IS NOT NULL AND tpot_band IS NULL) AS unbanded, "
        "count(*) FILTER (WHERE engine = 'vllm' AND gemm_quant = 'fp8_block') AS artefacts FROM modelled",
    ).to_dict("records")
    assert row == {"enough": True, "gpus": 5, "unexplained": 0, "unbanded": 0, "artefacts": 0}


def test_the_committed_error_tables_say_how_far_to_trust_it() -> None:
    found = query(
        Workspace(),
        "SELECT metric, median_ape, n FROM model_error WHERE label_map = 'corrected' AND level = 'all' "
        "ORDER BY metric",
    )
    assert list(found["metric"]) == ["tok_s_per_gpu", "tpot", "ttft"]
    assert found["n"].min() > 1_800
    assert found["median_ape"][1] == pytest.approx(0.1, abs=0.05)
    assert found["median_ape"][2] > 0.3
    wrong = query(Workspace(), "SELECT * FROM model_error WHERE n < 100 AND p90_ape IS NOT NULL")
    assert wrong.empty


def test_the_model_names_the_faster_engine_too_rarely_to_decide() -> None:
    found = query(
        Workspace(),
        "SELECT share_right FROM model_direction WHERE sweep = 'all' AND metric = 'tpot' ORDER BY label_map",
    )
    assert found["share_right"][0] < 0.8
    assert found["share_right"][1] < 0.5
