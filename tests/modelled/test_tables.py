"""From answers of the package to rows: reasons, drops, bands, directions. No package is needed."""

from __future__ import annotations

from dataclasses import replace

from pipeline.lanes.modelled.accuracy import (
    Predicted,
    directions,
    error_table,
    excluded,
    predict,
    sample_jobs,
)
from pipeline.lanes.modelled.ask import Answer
from pipeline.lanes.modelled.bands import Band, band_of, bands
from pipeline.lanes.modelled.grid import VARIANTS, Place, places
from pipeline.lanes.modelled.points import artefact, rows
from pipeline.lanes.modelled.steps import step_job, step_places, step_rows
from pipeline.lanes.published.measured import Measured, measured
from pipeline.lanes.published.sample import SampleRow
from tests.published.made import LLAMA, record

PLACE = Place(VARIANTS[0], "H100", "vllm", "bfloat16", 2, 1)
KNOWN = {
    ("vllm", "all"): Band(0.7, 0.3, "vLLM on all GPUs, 900 measured rows"),
    ("vllm", "H100"): Band(0.8, 0.2, "vLLM on H100, 180 measured rows"),
}
GOOD: list[object] = [100.0, 10.0, 9.5, 0.8, True, True]


def answer(place: Place, *first: list[object] | None, **labels: str) -> Answer:
    n = len(place.job.points)
    points = [*first, *[list(GOOD)] * (n - len(first))]
    return Answer(None, {f"{k}_quant_mode": v for k, v in labels.items()}, points, [None] * n)


def sample(number: int, backend: str, **values: object) -> Measured:
    known = record(number, backend, **values)
    return measured(SampleRow.model_validate({name: known[name] or None for name in SampleRow.model_fields}))


def test_a_point_has_its_numbers_labels_and_band() -> None:
    found = rows(PLACE, answer(PLACE, gemm="bfloat16"), KNOWN, "0.12.0")
    assert len(found) == len(PLACE.job.points)
    first = found[0]
    assert (first.model, first.status, first.reason, first.tpot_ms) == ("llama-3.1-8b", "ok", "", 10.0)
    # One request of 128 tokens: 128 / (0.1 s + 127 x 10 ms) on two GPUs.
    assert first.tok_s_per_gpu == 46.72
    assert (first.tpot_band, first.band_basis) == (0.2, "vLLM on H100, 180 measured rows")
    assert (first.package_version, first.database_version, first.gemm_quant) == (
        "0.12.0",
        "0.24.0",
        "bfloat16",
    )


def test_what_cannot_be_computed_is_a_row_with_the_reason() -> None:
    short: list[object] = [*GOOD[:5], False]
    full: list[object] = [*GOOD[:4], False, False]
    reply = answer(PLACE, short, full, None)
    reply.reasons[2] = "no kernel rows: MoE data missing"
    kinds = [(row.status, row.tpot_ms, row.reason[:14]) for row in rows(PLACE, reply, KNOWN, "0.12.0")[:3]]
    assert kinds == [
        ("kv_short", 10.0, ""),
        ("out_of_memory", None, "out of memory:"),
        ("no_data", None, "no kernel rows"),
    ]


def test_an_engine_that_cannot_be_built_gives_rows_with_the_reason() -> None:
    reply = Answer("the GPU does not compute this format: fp8", {}, [], [])
    found = rows(replace(PLACE, gpu="A100"), reply, KNOWN, "0.12.0")
    assert len(found) == len(PLACE.job.points)
    assert {row.reason for row in found} == {"the GPU does not compute this format: fp8"}
    assert {row.tpot_ms for row in found} == {None}
    assert {row.database_version for row in found} == {"0.14.0"}


def test_launch_bound_kernel_rows_are_dropped_and_listed() -> None:
    dropped = artefact(PLACE, answer(PLACE, gemm="fp8_block"))
    assert dropped is not None
    assert (dropped.rule, dropped.n_points) == ("vLLM fp8_block", len(PLACE.job.points))
    assert artefact(replace(PLACE, engine="tensorrt_llm"), answer(PLACE, gemm="fp8_block")) is None
    assert artefact(PLACE, answer(PLACE, gemm="fp8")) is None


def test_a_gpu_without_measured_rows_says_so() -> None:
    band = band_of(KNOWN, "vllm", "A100")
    assert (band.tpot, band.basis) == (0.3, "vLLM on all GPUs, 900 measured rows; none on A100")
    assert band_of(KNOWN, "tensorrt_llm", "A100").tpot is None


def test_the_grid_covers_what_it_should() -> None:
    grid = list(places())
    assert {place.gpu for place in grid} == {"A100", "L40S", "H100", "H200", "B200"}
    assert {place.engine for place in grid} == {"vllm", "tensorrt_llm"}
    assert len({place.job.key for place in grid}) == len(grid)


def predicted_pair() -> tuple[list[Measured], list[Predicted]]:
    llama = {"model_path": LLAMA, "precision": "fp8", "system": "h200_sxm", "isl": 8192}
    kept = [
        sample(1, "vllm", **llama),
        sample(2, "trtllm", silicon_tpot_ms=8.0, **llama),
        sample(3, "vllm", model_path="zai-org/GLM-5", precision="fp8"),
        sample(4, "vllm", system="b300_sxm", **{k: v for k, v in llama.items() if k != "system"}),
        sample(5, "vllm", concurrency=32, **llama),
    ]
    jobs = sample_jobs(kept)
    answers = {
        job.key: Answer(
            None,
            {},
            [
                [100.0, 11.0 if job.backend == "vllm" else 12.0, None, 0.5, point[2] < 32, True]
                for point in job.points
            ],
            [None] * len(job.points),
        )
        for job in jobs
    }
    return kept, predict(kept, jobs, answers)


def test_errors_exclusions_and_direction_of_a_small_sample() -> None:
    kept, found = predicted_pair()
    table = error_table(found)
    [tpot] = [
        row
        for row in table
        if (row.label_map, row.level, row.engine, row.metric) == ("native", "engine", "vllm", "tpot")
    ]
    assert (tpot.n, round(tpot.bias, 3), tpot.p90_ape) == (1, 0.1, None)
    [all_ttft] = [row for row in table if (row.label_map, row.level, row.metric) == ("native", "all", "ttft")]
    assert (all_ttft.n, all_ttft.median_ape, all_ttft.in_sample) == (2, 0.5, True)
    reasons = {(row.reason.split(",")[0], row.n) for row in excluded(found) if row.label_map == "native"}
    assert reasons == {
        ("a model or precision that the package ships no config of", 1),
        ("a GPU that the grid does not cover", 1),
        ("out of memory by the package's rule", 1),
    }
    [tpot_side] = [
        row
        for row in directions(kept, found)
        if (row.label_map, row.sweep, row.metric) == ("native", "all", "tpot")
    ]
    # Measured: TensorRT-LLM faster (8 against 10 ms). Predicted: slower.
    assert (tpot_side.n, tpot_side.n_right) == (1, 0)
    assert not bands(table)


def test_step_times_are_for_settings_that_fit() -> None:
    place = step_places()[0]
    n = len(step_job(place).points)
    points: list[list[object] | None] = [list(GOOD) for _ in range(n)]
    points[1] = [*GOOD[:5], False]
    found = step_rows(place, Answer(None, {}, points, [None] * n), KNOWN)
    assert len(found) == n - 1
    assert (found[0].kind, found[0].batch, found[0].context_tokens, found[0].step_ms) == (
        "decode",
        1,
        256,
        9.5,
    )
    assert (found[-1].kind, found[-1].context_tokens, found[-1].band) == ("prefill", 32_768, 0.8)
