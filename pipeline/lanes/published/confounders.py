"""What must not be read as a difference between engines: filters for rows, flags for pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.lanes.published.measured import ENGINES, Measured, measured
from pipeline.lanes.published.sample import SampleRow
from pipeline.schemas.published import PublishedLeftOut
from pipeline.schemas.words import PairFlag, PairNote

GPUS_A_NODE = 8
FAR_APART_DAYS = 21
# An unmarked build of the sample: the benchmark's change log names it the one with multi-token prediction.
SPECULATIVE = ("trtllm", "1.2.0rc6.post3", "b200_sxm", "deepseek-ai/")

WHY = {
    "another engine": "this lane compares vLLM with TensorRT-LLM",
    "disaggregated": "prefill and decode ran on servers of their own, which one row cannot be compared with",
    "listed again": "same setting and same times as an earlier row: a later snapshot of one measurement",
    "wider than a node": "tensor times data parallel exceeds the 8 GPUs of a node: numbers per GPU are off",
    "speculative decoding": "TensorRT-LLM 1.2.0rc6.post3 on B200 predicts several tokens a step; no column "
    "says so (the benchmark's change log does); TPOT of its twins is 0.61 times",
}


@dataclass(frozen=True)
class Sifted:
    """The measurements that speak, and the count of those that do not by rule and engine."""

    kept: list[Measured]
    left_out: list[PublishedLeftOut]


def sift(rows: Sequence[SampleRow]) -> Sifted:
    """Apply every filter, in the order of `WHY`; a row counts under the first rule that it meets."""
    counts: Counter[tuple[str, str]] = Counter()
    kept: list[Measured] = []
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        reason, one = _reason(row, seen)
        if one is not None and reason is None:
            kept.append(one)
        else:
            counts[reason or "", row.backend] += 1
    left = [
        PublishedLeftOut(reason=reason, engine=engine, n_rows=count, why=WHY[reason])
        for (reason, engine), count in sorted(counts.items())
    ]
    return Sifted(kept, left)


def _reason(row: SampleRow, seen: set[tuple[object, ...]]) -> tuple[str | None, Measured | None]:
    if row.backend not in ENGINES:
        return "another engine", None
    if row.mode != "agg":
        return "disaggregated", None
    one = measured(row)
    times = (one.engine, *one.setting, row.silicon_ttft_ms, row.silicon_tpot_ms)
    if times in seen:
        return "listed again", one
    seen.add(times)
    if one.gpus > GPUS_A_NODE and not row.system.startswith("gb"):
        return "wider than a node", one
    backend, version, system, owner = SPECULATIVE
    if (row.backend, row.backend_version, row.system) == (backend, version, system):
        return ("speculative decoding", one) if row.model_path.startswith(owner) else (None, one)
    return None, one


def flags(vllm: Measured, trt: Measured, days_apart: int) -> Iterator[PairFlag]:
    """Why a pair is no fair comparison of engines."""
    if vllm.saturated or trt.saturated:
        yield "saturated"
    if days_apart > FAR_APART_DAYS:
        yield "far_apart"
    if _waits_for_batches(trt):
        yield "scheduler_knob"
    if trt.attention_dp > 1 and trt.tp > 1:
        yield "mixed_parallelism"


def _waits_for_batches(trt: Measured) -> bool:
    """The scripts of that day make TensorRT-LLM hold prompts back to fill a batch, in these cells only."""
    row = trt.row
    return (
        row.model_path == "meta-llama/Llama-3.1-70B" and row.isl == row.osl == 1024 and trt.tp < GPUS_A_NODE
    )


def notes(vllm: Measured, trt: Measured) -> Iterator[PairNote]:
    """What a reader must know beside a pair that is shown."""
    if trt.relabelled:
        yield "checkpoint_label"
    bases = {vllm.version_basis, trt.version_basis}
    if "inferred" in bases:
        yield "version_inferred"
    if "unknown" in bases:
        yield "version_unknown"
