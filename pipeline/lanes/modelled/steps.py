"""Step times for the fleet simulator: decode by batch and context, prefill by prompt, a few settings only."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.lanes.modelled.ask import Answer, Job
from pipeline.lanes.modelled.bands import Band, band_of
from pipeline.lanes.modelled.grid import VARIANTS, Place
from pipeline.lanes.modelled.points import rounded
from pipeline.schemas.modelled import StepTime
from pipeline.schemas.words import PairedEngine

# (model, precision, KV, GPU, tensor parallelism): what fleets of the question pages are made of.
SETTINGS = (
    ("llama-3.1-8b", "bf16", "bfloat16", "H100", 1),
    ("llama-3.1-8b", "fp8", "fp8", "H100", 1),
    ("llama-3.1-8b", "bf16", "bfloat16", "A100", 1),
    ("llama-3.1-8b", "bf16", "bfloat16", "L40S", 1),
    ("qwen3-32b", "bf16", "bfloat16", "H100", 2),
    ("qwen3-32b", "fp8", "fp8", "H100", 1),
    ("llama-3.1-70b", "fp8", "fp8", "H100", 4),
    ("llama-3.1-70b", "fp8", "fp8", "H200", 2),
    ("llama-3.1-70b", "fp8", "fp8", "B200", 1),
)
ENGINES: tuple[PairedEngine, ...] = ("vllm", "tensorrt_llm")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (256, 1024, 4096, 16_384, 32_768)
PROMPTS = (128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)
# Long enough that some steps of every batch only decode, short enough that the context hardly grows.
DECODED = 300


def step_places() -> list[Place]:
    """The engines whose steps are exported."""
    variants = {(each.model, each.precision): each for each in VARIANTS}
    return [
        Place(variants[model, precision], gpu, engine, kv, tp, 1)
        for (model, precision, kv, gpu, tp), engine in itertools.product(SETTINGS, ENGINES)
    ]


def step_job(place: Place) -> Job:
    """Decode points first, then prefill points."""
    decode = tuple(
        (max(1, context - DECODED // 2), DECODED, batch)
        for context, batch in itertools.product(CONTEXTS, BATCHES)
    )
    prefill = tuple((prompt, 2, 1) for prompt in PROMPTS)
    return replace(place.job, key=f"steps {place.job.key}", points=(*decode, *prefill))


def step_rows(place: Place, answer: Answer, known: Mapping[tuple[str, str], Band]) -> list[StepTime]:
    """Step times; points whose KV or weights do not fit are left out."""
    band = band_of(known, place.engine, place.gpu)
    wanted = [("decode", batch, context) for context, batch in itertools.product(CONTEXTS, BATCHES)]
    wanted += [("prefill", 1, prompt) for prompt in PROMPTS]
    found = []
    for (kind, batch, tokens), values in zip(wanted, answer.points, strict=False):
        step = _step_ms(kind, values)
        if values is None or step is None:
            continue
        found.append(
            StepTime(
                model=place.variant.model,
                gpu=place.gpu,
                engine=place.engine,
                precision=place.variant.precision,
                kv_dtype={"bfloat16": "bf16"}.get(place.kv, place.kv),
                tp=place.tp,
                kind="decode" if kind == "decode" else "prefill",
                batch=batch,
                context_tokens=tokens,
                step_ms=rounded(step),
                prefill_ms_per_token=rounded(step / tokens) if kind == "prefill" else None,
                band=band.tpot if kind == "decode" else band.ttft,
                band_basis=band.basis,
                silicon_share=round(values[3], 2),
                database_version=place.job.version,
            )
        )
    return found


def _step_ms(kind: str, values: list[Any] | None) -> float | None:
    """Decode: a step without prompts; prefill: TTFT of a lone request. Null where it does not fit."""
    if values is None or not values[5]:
        return None
    step: float | None = values[2] if kind == "decode" else values[0]
    return step
