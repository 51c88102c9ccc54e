"""Tables of the published lane: ratios, differences and medians of measurements that others made."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from pipeline.schemas.base import Authored, Strict
from pipeline.schemas.words import Lane, PairedEngine, VersionBasis

LABEL = "unofficial re-analysis"
SOURCE = "SemiAnalysis InferenceX and NVIDIA data as redistributed in aiconfigurator-core 0.12.0"
LICENCE = "Apache-2.0"


class Pair(Strict):
    """Both engines on one setting, the latest row of each; every ratio is TensorRT-LLM over vLLM."""

    lane: Lane = Field(description="published")
    sweep: str = Field(description="model, precision and GPU: pairs of one sweep are not independent")
    model: str = Field(description="model as the source labels it")
    checkpoint: str = Field(description="checkpoint that was served, as far as known")
    gpu: str = Field(description="GPU")
    precision: str = Field(description="precision as the source labels it")
    isl: int = Field(description="input tokens, nominal")
    osl: int = Field(description="output tokens, nominal")
    tp: int = Field(description="GPUs of the tensor-parallel group")
    attention_dp: int = Field(description="data-parallel attention ranks")
    moe_tp: int = Field(description="tensor-parallel width of the experts")
    moe_ep: int = Field(description="expert-parallel width")
    concurrency: int = Field(description="requests in flight")
    ttft_ratio: float = Field(description="TTFT of TensorRT-LLM over that of vLLM")
    tpot_ratio: float = Field(description="TPOT of TensorRT-LLM over that of vLLM")
    tok_s_per_gpu_ratio: float = Field(
        description="output tokens/s per GPU of TensorRT-LLM over that of vLLM, by Little's law"
    )
    ttft_diff_ms: float = Field(description="TTFT of TensorRT-LLM less that of vLLM, ms")
    tpot_diff_ms: float = Field(description="TPOT of TensorRT-LLM less that of vLLM, ms")
    vllm_measured_on: date = Field(description="day of the vLLM row")
    trtllm_measured_on: date = Field(description="day of the TensorRT-LLM row")
    measured_on: date = Field(description="the older of both days")
    measured_days_apart: int = Field(description="days between both measurements")
    vllm_version: str | None = Field(description="vLLM version, null where not recorded")
    trtllm_version: str | None = Field(description="TensorRT-LLM version, null where not recorded")
    vllm_version_basis: VersionBasis = Field(description="stated, inferred or unknown")
    trtllm_version_basis: VersionBasis = Field(description="stated, inferred or unknown")
    version_basis: VersionBasis = Field(description="the weaker of both bases")
    flags: str = Field(description="why it is left out of pairs_clean, comma separated; empty if it is not")
    notes: str = Field(description="what to know beside it, comma separated")
    left_out: bool = Field(description="whether a flag leaves it out of pairs_clean")
    source: str = Field(description="where the measurements are from")
    licence: str = Field(description="licence of the source")
    label: str = Field(description="what this is")


class PublishedSweep(Strict):
    """One engine on one setting of model, GPU, precision and lengths: medians over a band of concurrency."""

    engine: PairedEngine = Field(description="engine")
    model: str = Field(description="model as the source labels it")
    gpu: str = Field(description="GPU")
    precision: str | None = Field(description="precision as the source labels it, null where it does not")
    isl: int = Field(description="input tokens, nominal")
    osl: int = Field(description="output tokens, nominal")
    concurrency_band: str = Field(description="requests in flight: 1-8, 9-64 or 65 and more")
    n_rows: int = Field(description="rows behind the medians (they share a sweep and are not independent)")
    ttft_median_ms: float = Field(description="median TTFT, ms")
    tpot_median_ms: float = Field(description="median TPOT, ms")
    tok_s_per_gpu_median: float | None = Field(description="median output tokens/s per GPU, by Little's law")
    tok_s_per_gpu_best: float | None = Field(description="largest output tokens/s per GPU, by Little's law")
    measured_from: date | None = Field(description="day of the oldest row, null where none is dated")
    measured_to: date | None = Field(description="day of the newest row, null where none is dated")
    versions: str | None = Field(description="engine versions, null where none is recorded")


class PublishedBatch(Strict):
    """How one configuration changes with concurrency, over its own lowest."""

    engine: PairedEngine = Field(description="engine")
    sweep: str = Field(description="engine, model, precision and GPU: the unit of independence")
    model: str = Field(description="model as the source labels it")
    gpu: str = Field(description="GPU")
    precision: str | None = Field(description="precision as the source labels it")
    isl: int = Field(description="input tokens, nominal")
    osl: int = Field(description="output tokens, nominal")
    tp: int = Field(description="GPUs of the tensor-parallel group")
    moe_ep: int = Field(description="expert-parallel width")
    base_concurrency: int = Field(description="lowest concurrency of the configuration")
    concurrency: int = Field(description="requests in flight")
    tpot_ratio: float = Field(description="TPOT over that at the lowest concurrency")
    ttft_ratio: float = Field(description="TTFT over that at the lowest concurrency")
    tok_s_per_gpu_ratio: float = Field(description="output tokens/s per GPU over that at the lowest")
    saturated: bool = Field(description="TTFT above 5 s, or above the time of all output tokens")
    measured_on: date | None = Field(description="day, null where not recorded")
    version: str | None = Field(description="engine version, null where not recorded")


class PublishedCapacity(Strict):
    """The most requests a second and GPU that a published configuration served within an objective."""

    engine: PairedEngine = Field(description="engine")
    model: str = Field(description="model as the source labels it")
    gpu: str = Field(description="GPU")
    precision: str | None = Field(description="precision as the source labels it")
    isl: int = Field(description="input tokens, nominal")
    osl: int = Field(description="output tokens, nominal")
    ttft_limit_ms: float = Field(description="objective for TTFT, ms")
    tpot_limit_ms: float = Field(description="objective for TPOT, ms")
    req_s_per_gpu: float | None = Field(
        description="largest requests/s per GPU within it, by Little's law; null where no row meets it"
    )
    tp: int | None = Field(description="GPUs of one server there")
    concurrency: int | None = Field(description="requests in flight there")
    n_rows: int = Field(description="rows of the sweep")
    measured_on: date | None = Field(description="day, null where not recorded")
    version: str | None = Field(description="engine version, null where not recorded")


class PublishedLeftOut(Strict):
    """Rows of the sample that no table of this lane uses, and why."""

    reason: str = Field(description="rule that leaves the rows out")
    engine: str = Field(description="engine as the source names it")
    n_rows: int = Field(description="rows")
    why: str = Field(description="what the rule rests on")


class QuotedThroughput(Strict):
    """A throughput that a vendor publishes; quoted, not measured here."""

    engine: PairedEngine = Field(description="engine")
    model: str = Field(description="model")
    gpu: str = Field(description="GPU")
    parallelism: str = Field(description="TP: tensor, DEP: data and expert parallel, with the number of GPUs")
    precision: str = Field(description="precision")
    isl: int = Field(description="input tokens")
    osl: int = Field(description="output tokens")
    tok_s_per_gpu: float = Field(gt=0, description="output tokens/s per GPU at the largest load")
    version: str | None = Field(description="engine version, null where the page prints none")
    version_basis: VersionBasis = Field(description="stated, inferred or unknown")
    source: str = Field(description="where it is quoted from")
    licence: str = Field(description="licence of the source")
    read_on: date = Field(description="day it was read")


class QuotedFile(Authored):
    """`data/quoted/throughput.toml`: one source and its rows."""

    source: str = Field(min_length=8)
    licence: str = Field(min_length=3)
    read_on: date
    engine: PairedEngine
    version_basis: VersionBasis
    version: str | None = None
    rows: tuple[QuotedRow, ...] = Field(min_length=1)


class QuotedRow(Authored):
    """One row of the file."""

    model: str = Field(min_length=3)
    gpu: str = Field(min_length=3)
    parallelism: str = Field(min_length=3)
    precision: str = Field(min_length=3)
    isl: int = Field(gt=0)
    osl: int = Field(gt=0)
    tok_s_per_gpu: float = Field(gt=0)


class PairSweep(Strict):
    """One sweep of pairs that speak: medians with their range, and what was left out."""

    sweep: str = Field(description="model, precision and GPU")
    model: str = Field(description="model as the source labels it")
    gpu: str = Field(description="GPU")
    precision: str = Field(description="precision as the source labels it")
    n_pairs: int = Field(description="pairs without a flag")
    n_left_out: int = Field(description="pairs that a flag leaves out")
    tpot_ratio: float | None = Field(description="median TPOT ratio, TensorRT-LLM over vLLM")
    ttft_ratio: float | None = Field(description="median TTFT ratio")
    tok_s_per_gpu_ratio: float | None = Field(description="median ratio of output tokens/s per GPU")
    tok_s_per_gpu_ratio_least: float | None = Field(description="smallest ratio of a pair")
    tok_s_per_gpu_ratio_most: float | None = Field(description="largest ratio of a pair")
    share_faster: float | None = Field(description="share of pairs in which TensorRT-LLM has more tokens/s")
    tpot_diff_ms: float | None = Field(description="median TPOT difference, TensorRT-LLM less vLLM, ms")
    ttft_diff_ms: float | None = Field(description="median TTFT difference, ms")
    measured_on: date | None = Field(description="oldest day of its pairs")
    newest_on: date | None = Field(description="newest day of its pairs")
    versions: str | None = Field(description="versions of both engines with their basis, or not recorded")


class PairDates(Strict):
    """Pairs of one sweep by the days of both measurements; a date by date cell."""

    sweep: str = Field(description="model, precision and GPU")
    vllm_measured_on: date = Field(description="day of the vLLM rows")
    trtllm_measured_on: date = Field(description="day of the TensorRT-LLM rows")
    measured_days_apart: int = Field(description="days between them")
    n_pairs: int = Field(description="pairs, flagged ones too")
    n_left_out: int = Field(description="of these, left out by a flag")
    tpot_ratio: float = Field(description="median TPOT ratio of all pairs, TensorRT-LLM over vLLM")
    tok_s_per_gpu_ratio: float = Field(description="median ratio of output tokens/s per GPU of all pairs")
