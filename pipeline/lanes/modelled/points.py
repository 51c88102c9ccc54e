"""From the package's answers to the grid's rows; known artefacts are dropped by rule and listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.lanes.modelled.ask import Answer, Job
from pipeline.lanes.modelled.bands import Band, band_of
from pipeline.lanes.modelled.grid import Place
from pipeline.lanes.published.measured import tok_s_per_gpu
from pipeline.schemas.modelled import ModelledDropped, ModelledPoint

RULE = "vLLM fp8_block"
REASON = (
    "the package's vLLM kernel rows of this format are bound by launches: 60 us where TensorRT-LLM's take 15 "
    "on H100, 180 against 12 on B200 (16 x 5120 x 5120); they would show a speed-up that is none"
)
DIGITS = 4


def artefact(place: Place, answer: Answer) -> ModelledDropped | None:
    """The entry for an engine whose points are dropped; null where they stand."""
    formats = {answer.labels.get("gemm_quant_mode"), answer.labels.get("moe_quant_mode")}
    if place.engine != "vllm" or "fp8_block" not in formats:
        return None
    return ModelledDropped(**_place(place), n_points=len(answer.points), rule=RULE, reason=REASON)


def rows(
    place: Place, answer: Answer, known: Mapping[tuple[str, str], Band], package_version: str
) -> list[ModelledPoint]:
    """One row for each point, or one for the engine where none of its points can be computed."""
    job, band = place.job, band_of(known, place.engine, place.gpu)
    common = {
        **_place(place),
        **_labels(answer),
        "ttft_band": band.ttft,
        "tpot_band": band.tpot,
        "band_basis": band.basis,
        "package_version": package_version,
        "database_version": job.version,
    }
    if answer.error:
        return [ModelledPoint(**common, **_empty(job, answer.error, load)) for load in job.points]
    found = zip(job.points, answer.points, answer.reasons, strict=True)
    return [ModelledPoint(**common, **_point(job, load, values, why)) for load, values, why in found]


def _place(place: Place) -> dict[str, Any]:
    return {
        "model": place.variant.model,
        "gpu": place.gpu,
        "engine": place.engine,
        "precision": place.variant.precision,
        "kv_dtype": {"bfloat16": "bf16"}.get(place.kv, place.kv),
        "tp": place.tp,
        "ep": place.ep,
    }


def _labels(answer: Answer) -> dict[str, str | None]:
    names = {"gemm_quant": "gemm", "moe_quant": "moe", "kv_quant": "kvcache", "fmha_quant": "fmha"}
    return {column: answer.labels.get(f"{name}_quant_mode") for column, name in names.items()}


def _point(
    job: Job, load: tuple[int, int, int], values: Sequence[Any] | None, why: str | None
) -> dict[str, Any]:
    if values is None:
        return _empty(job, why or "no reason given", load)
    _, osl, batch = load
    ttft, tpot, _, silicon, fits, kv_fits = values
    if not fits:
        return _empty(job, "out of memory: weights, activations and KV of the batch exceed the card", load)
    return {
        **_load(load),
        "status": "ok" if kv_fits else "kv_short",
        "reason": "",
        "ttft_ms": rounded(ttft),
        "tpot_ms": rounded(tpot),
        "tok_s_per_gpu": rounded(tok_s_per_gpu(batch, osl, ttft, tpot, job.tp)),
        "silicon_share": round(silicon, 2),
    }


def _empty(_: Job, reason: str, load: tuple[int, int, int]) -> dict[str, Any]:
    status = "out_of_memory" if reason.startswith("out of memory") else "no_data"
    nothing = dict.fromkeys(("ttft_ms", "tpot_ms", "tok_s_per_gpu", "silicon_share"))
    return {**_load(load), "status": status, "reason": reason, **nothing}


def _load(load: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("isl", "osl", "batch"), load, strict=True))


def rounded(value: float) -> float:
    """Four significant digits: the error is far larger, and the file stays small."""
    return float(f"{value:.{DIGITS}g}")
