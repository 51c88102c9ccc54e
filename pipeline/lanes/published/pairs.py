"""Pairs: both engines on one setting, the latest row of each, as ratios and differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from pipeline.lanes.published.confounders import flags, notes
from pipeline.lanes.published.measured import Measured
from pipeline.schemas.published import LABEL, LICENCE, SOURCE, Pair
from pipeline.schemas.words import PairedEngine, VersionBasis

_WEAKEST: tuple[VersionBasis, ...] = ("unknown", "inferred", "stated")


def pairs(kept: Iterable[Measured]) -> list[Pair]:
    """All pairs, ordered by setting; rows without concurrency or day cannot be paired."""
    return [_pair(vllm, trt) for vllm, trt in matched(kept)]


def matched(kept: Iterable[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """The latest vLLM row and the latest TensorRT-LLM row of each setting that both have, in order."""
    latest = _latest(kept)
    settings = sorted({setting for _, setting in latest}, key=str)
    for setting in settings:
        vllm, trt = latest.get(("vllm", setting)), latest.get(("tensorrt_llm", setting))
        if vllm and trt:
            yield vllm, trt


def _latest(kept: Iterable[Measured]) -> dict[tuple[PairedEngine, Any], Measured]:
    latest: dict[tuple[PairedEngine, Any], Measured] = {}
    for one in kept:
        if one.concurrency is None or one.measured_on is None:
            continue
        key = (one.engine, one.setting)
        if key not in latest or _day(latest[key]) <= one.measured_on:
            latest[key] = one
    return latest


def _day(one: Measured) -> date:
    return one.measured_on or date.min


def _pair(vllm: Measured, trt: Measured) -> Pair:
    days = (_day(vllm), _day(trt))
    apart = abs((days[1] - days[0]).days)
    found = list(flags(vllm, trt, apart))
    row = vllm.row
    bases = (vllm.version_basis, trt.version_basis)
    return Pair(
        lane="published",
        sweep=f"{vllm.model} {row.precision} {vllm.gpu}",
        model=vllm.model,
        checkpoint=trt.checkpoint,
        gpu=vllm.gpu,
        precision=row.precision or "not recorded",
        isl=row.isl,
        osl=row.osl,
        tp=vllm.tp,
        attention_dp=vllm.attention_dp,
        moe_tp=vllm.moe_tp,
        moe_ep=vllm.moe_ep,
        concurrency=vllm.concurrency or 0,
        **_differences(vllm, trt),
        vllm_measured_on=days[0],
        trtllm_measured_on=days[1],
        measured_on=min(days),
        measured_days_apart=apart,
        vllm_version=vllm.version,
        trtllm_version=trt.version,
        vllm_version_basis=bases[0],
        trtllm_version_basis=bases[1],
        version_basis=min(bases, key=_WEAKEST.index),
        flags=", ".join(found),
        notes=", ".join(notes(vllm, trt)),
        left_out=bool(found),
        source=SOURCE,
        licence=LICENCE,
        label=LABEL,
    )


def _differences(vllm: Measured, trt: Measured) -> dict[str, float]:
    ttft, tpot = trt.row.silicon_ttft_ms, trt.row.silicon_tpot_ms
    return {
        "ttft_ratio": ttft / vllm.row.silicon_ttft_ms,
        "tpot_ratio": tpot / vllm.row.silicon_tpot_ms,
        "tok_s_per_gpu_ratio": (trt.tok_s_per_gpu or 0.0) / (vllm.tok_s_per_gpu or 1.0),
        "ttft_diff_ms": ttft - vllm.row.silicon_ttft_ms,
        "tpot_diff_ms": tpot - vllm.row.silicon_tpot_ms,
    }
