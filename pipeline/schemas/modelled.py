"""Tables of the modelled lane: kernel tables over a grid, and their error against measurements."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import PairedEngine

PointStatus = Literal["ok", "kv_short", "out_of_memory", "no_data"]
_BAND = "90th percentile of the absolute error on measured rows, as a share"


class ModelledPoint(Strict):
    """One point of the grid; a point that cannot be computed is a row with the reason."""

    model: str = Field(description="model")
    gpu: str = Field(description="GPU, SXM board where there is one")
    engine: PairedEngine = Field(description="engine; this lane never compares engines")
    precision: str = Field(description="number format of the weights")
    kv_dtype: str = Field(description="number format of KV")
    tp: int = Field(description="GPUs of the tensor-parallel group")
    ep: int = Field(description="expert-parallel width")
    isl: int = Field(description="input tokens")
    osl: int = Field(description="output tokens")
    batch: int = Field(description="requests in flight")
    status: PointStatus = Field(
        description="ok; kv_short: KV of the batch exceeds the engine's budget, so requests would queue; "
        "out_of_memory; no_data"
    )
    reason: str = Field(description="why there is no value, empty where there is one")
    ttft_ms: float | None = Field(description="TTFT, ms")
    tpot_ms: float | None = Field(description="TPOT, ms")
    tok_s_per_gpu: float | None = Field(description="output tokens/s per GPU, by Little's law")
    silicon_share: float | None = Field(description="share of the time that rests on measured kernels")
    ttft_band: float | None = Field(description=f"TTFT: {_BAND}")
    tpot_band: float | None = Field(description=f"TPOT: {_BAND}")
    band_basis: str = Field(description="measured rows that the bands come from")
    gemm_quant: str | None = Field(description="package's label for dense layers")
    moe_quant: str | None = Field(description="package's label for experts, null for dense models")
    kv_quant: str | None = Field(description="package's label for KV")
    fmha_quant: str | None = Field(description="package's label for attention of the prompt")
    package_version: str = Field(description="aiconfigurator-core")
    database_version: str = Field(description="engine release of the kernel tables")


class ModelledDropped(Strict):
    """Points that a rule drops because the package is known to be wrong there."""

    model: str = Field(description="model")
    gpu: str = Field(description="GPU")
    engine: PairedEngine = Field(description="engine")
    precision: str = Field(description="number format of the weights")
    kv_dtype: str = Field(description="number format of KV")
    tp: int = Field(description="GPUs of the tensor-parallel group")
    ep: int = Field(description="expert-parallel width")
    n_points: int = Field(description="points dropped")
    rule: str = Field(description="rule that drops them")
    reason: str = Field(description="what the rule rests on")


class StepTime(Strict):
    """Time of one step of an engine, for the fleet simulator."""

    model: str = Field(description="model")
    gpu: str = Field(description="GPU, SXM board where there is one")
    engine: PairedEngine = Field(description="engine")
    precision: str = Field(description="number format of the weights")
    kv_dtype: str = Field(description="number format of KV")
    tp: int = Field(description="GPUs of the replica")
    kind: Literal["decode", "prefill"] = Field(
        description="decode: one token for every request of the batch; prefill: a whole prompt, alone"
    )
    batch: int = Field(description="requests in the step; 1 for prefill")
    context_tokens: int = Field(description="decode: tokens before the step, each request; prefill: prompt")
    step_ms: float = Field(description="time of the step, ms")
    prefill_ms_per_token: float | None = Field(
        description="step_ms over the prompt's tokens, null for decode"
    )
    band: float | None = Field(description=f"{_BAND}; TPOT for decode, TTFT for prefill")
    band_basis: str = Field(description="measured rows that the band comes from")
    silicon_share: float = Field(description="share of the time that rests on measured kernels")
    database_version: str = Field(description="engine release of the kernel tables")


class ModelError(Strict):
    """How far the package is from the published measurements, for one group of rows."""

    label_map: Literal["native", "corrected"] = Field(
        description="native: labels as in sample and config; corrected: what was served, partly chosen after "
        "seeing errors, so optimistic"
    )
    level: str = Field(description="how rows are grouped: all, engine, gpu, model, or load")
    engine: str = Field(description="engine, or all")
    gpu: str = Field(description="GPU, or all")
    model: str = Field(description="model with its precision, or all")
    load: str = Field(description="requests in flight: 1-8, 9-64, 65 and more, or all")
    metric: Literal["tpot", "ttft", "tok_s_per_gpu"] = Field(description="what is predicted")
    n: int = Field(description="measured rows predicted")
    median_ape: float = Field(description="median of |predicted - measured| / measured, as a share")
    mean_ape: float = Field(description="mean of it")
    p90_ape: float | None = Field(description="90th percentile of it, null below 100 rows")
    bias: float = Field(
        description="median of (predicted - measured) / measured: negative is too fast for times"
    )
    rank_correlation: float | None = Field(
        description="Spearman's rho of predicted and measured, null below 3 rows or where one does not vary"
    )
    in_sample: bool = Field(
        description="the package's terms for vLLM's TTFT were, by its own comments, fitted to this sample"
    )


class ModelErrorExcluded(Strict):
    """Published rows that were not predicted, and why."""

    label_map: Literal["native", "corrected"] = Field(description="label map")
    engine: str = Field(description="engine")
    gpu: str = Field(description="GPU")
    model: str = Field(description="model with its precision")
    reason: str = Field(description="why")
    n: int = Field(description="rows")


class ModelDirection(Strict):
    """How often the package names the faster engine of a measured pair rightly."""

    label_map: Literal["native", "corrected"] = Field(description="label map")
    sweep: str = Field(description="model, precision and GPU, or all")
    metric: Literal["tpot", "ttft", "tok_s_per_gpu"] = Field(description="what decides who is faster")
    n: int = Field(description="pairs without a flag, both rows predicted")
    n_right: int = Field(description="pairs where the package names the faster engine")
    share_right: float = Field(description="n_right over n; a coin gives 0.5")
