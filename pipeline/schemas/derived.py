"""Rows of the derived lane: arithmetic over the catalogues, units in the names."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from pipeline.schemas.base import Strict


class FitRow(Strict):
    """Whether a model fits, and what then fits beside it. `weighbridge fit --format json` prints one."""

    model: str = Field(description="model")
    gpu: str = Field(description="board, name in view hardware")
    engine: str = Field(description="vllm or tensorrt_llm: whose rule sizes the KV pool")
    tp: int = Field(description="tensor parallelism: GPUs of one replica")
    weight_bits: float = Field(description="bits of a weight, scales included")
    kv_dtype: str = Field(description="width of KV elements: fp16, fp8 or fp4")
    context_tokens: int = Field(description="length that every request is counted with, prompt plus output")
    memory_fraction: float = Field(description="share given to the engine, of the card or of what is left")
    gpu_memory_gib: float = Field(description="memory of the card that an engine sees, GiB")
    weights_gib_per_gpu: float = Field(description="weights on each GPU, GiB")
    overhead_gib_per_gpu: float = Field(description="assumed for activations, graphs and the rest, GiB")
    kv_bytes_per_token_per_gpu: int | None = Field(
        description="bytes that one more token costs on each GPU; null if the model's rule is not known"
    )
    kv_pool_gib_per_gpu: float = Field(description="KV pool of each GPU, GiB")
    kv_pool_tokens: int | None = Field(
        description="tokens in the pool; for hybrid models requests at once times their length"
    )
    max_concurrent_requests: int | None = Field(description="requests of context_tokens that fit at once")
    reserved_gib_per_gpu: float = Field(description="weights, overhead and KV pool together, GiB")
    fits: bool = Field(description="whether weights and at least one request fit")
    notes: str = Field(description="assumptions, and the reason where it does not fit")


class CostRow(Strict):
    """A lower bound of what a request costs with 16-bit KV: no software beats bandwidth and peak."""

    model: str = Field(description="model")
    gpu: str = Field(description="board, name in view hardware")
    gpus: int = Field(description="GPUs of one replica")
    weight_bits: float = Field(description="bits of a weight, scales included")
    isl: int = Field(description="prompt, tokens")
    osl: int = Field(description="output, tokens")
    batch: int = Field(description="requests that decode together: all that fit")
    utilisation: float = Field(description="share of full load that comes")
    usd_per_gpu_hour: float = Field(description="price used")
    price_dated: date = Field(description="day of the price")
    prefill_ms_floor: float = Field(description="least time to compute the prompt, ms")
    tpot_ms_floor: float = Field(description="least time of a decode step at this batch, ms")
    tok_s_per_gpu_bound: float = Field(description="output tokens a second and GPU that cannot be exceeded")
    usd_per_request_floor: float = Field(description="a request cannot cost less, USD")
    usd_per_million_tokens_floor: float = Field(description="a million output tokens cannot cost less, USD")


class ModelRow(Strict):
    """A model of the catalogue with its sizes."""

    name: str = Field(description="name in this catalogue")
    ids: str = Field(description="Hugging Face ids, comma between them; empty if none")
    architecture: str | None = Field(description="architecture as the config names it")
    parameters_b: float = Field(description="parameters, billions")
    parameters_basis: str = Field(description="counted from the config, from the name, or from a paper")
    active_b: float | None = Field(description="parameters used for one token, billions")
    weight_bits: float = Field(description="bits of a weight in the checkpoint, scales included")
    weights_gib: float = Field(description="weights of the checkpoint, GiB")
    attention: str = Field(description="mha, gqa, mla, hybrid or unknown")
    layers: int | None = Field(description="layers")
    heads: int | None = Field(description="query heads")
    kv_bytes_per_token: int | None = Field(
        description="bytes of 16-bit KV that one more token costs, one GPU"
    )
    kv_note: str | None = Field(description="what the KV rule leaves out, or why there is none")
    source: str = Field(description="where the values are from")
    dated: date = Field(description="day of the source")


class HardwareRow(Strict):
    """A board, phone or TPU chip."""

    name: str = Field(description="name in this catalogue")
    title: str = Field(description="as the vendor calls it")
    kind: str = Field(description="gpu, phone or tpu")
    memory_gb: float = Field(description="memory as sold, GB")
    memory_gib: float = Field(description="memory an engine can see, GiB")
    memory_basis: str = Field(description="log, package or nominal: where memory_gib is from")
    bandwidth_gb_s: float = Field(description="memory bandwidth, GB/s")
    bf16_tflops: float | None = Field(description="dense 16-bit peak, TFLOP/s")
    fp8_tflops: float | None = Field(description="dense 8-bit peak, TFLOP/s")
    fp4_tflops: float | None = Field(description="dense 4-bit peak, TFLOP/s")
    power_w: float | None = Field(description="rated board power, W; not a measurement")
    form_factor: str = Field(description="how it is mounted")
    per_node: int | None = Field(description="chips in a usual node, or in the pod")
    host_link: str | None = Field(description="link to host memory")
    peer_link: str | None = Field(description="link to the other chips of a node")
    source: str = Field(description="where the values are from")
    dated: date = Field(description="day of the source")


class LinkRow(Strict):
    """A link that bytes cross, and the time a gigabyte needs on it."""

    name: str = Field(description="name in this catalogue")
    title: str = Field(description="as people call it")
    gb_s: float = Field(description="bandwidth one way, GB/s")
    ms_per_gb: float = Field(description="least time to move 1 GB, ms")
    basis: str = Field(description="nominal or measured")
    source: str = Field(description="where the value is from")
    dated: date = Field(description="day of the source")


class PriceRow(Strict):
    """A price of the editable price file, with what a GB of the card's memory costs."""

    item: str = Field(description="board or service")
    unit: str = Field(description="what usd is for")
    usd: float = Field(description="price that calculations use, USD")
    low_usd: float = Field(description="lowest price in the sources, USD")
    high_usd: float = Field(description="highest price in the sources, USD")
    usd_per_gb_hour: float | None = Field(
        description="price over memory, USD a GB and hour; null for services"
    )
    source: str = Field(description="where the price is from")
    dated: date = Field(description="day of the price")
    dated_basis: str = Field(description="stated by the source, or the day it was read")


class KvCaseRow(Strict):
    """A public log of a KV pool against the arithmetic."""

    name: str = Field(description="short name")
    engine: str = Field(description="vllm or tensorrt_llm")
    engine_version: str | None = Field(description="version, null if the source does not tell")
    model: str | None = Field(description="model, null if the log names none")
    tp: int = Field(description="tensor parallelism")
    checks: Literal["tokens", "pool", "tokens and pool"] = Field(description="which rule the log can check")
    logged_tokens: int | None = Field(description="tokens as printed")
    computed_tokens: int | None = Field(description="tokens by the rule for the printed pool")
    tokens_error: float | None = Field(description="computed over printed tokens, less 1")
    logged_pool_gib: float = Field(description="pool as printed, GiB")
    computed_pool_gib: float | None = Field(description="pool by the engine's rule, GiB")
    pool_error: float | None = Field(description="computed over printed pool, less 1")
    hybrid: bool = Field(
        description="hybrid model: the printed tokens are no rate, the error is shown and excused"
    )
    source: str = Field(description="where the log is")
    dated: date = Field(description="day of the log")


class GpusNeededRow(Strict):
    """Fewest GPUs for a model's weights."""

    model: str = Field(description="model")
    parameters_b: float = Field(description="parameters, billions")
    weight_bits: float = Field(description="bits of a weight")
    weights_gb: float = Field(description="weights, GB")
    memory_gb: float = Field(description="memory that each GPU gives to weights, GB")
    gpu: str | None = Field(description="board of that memory, null for a bare cap")
    gpus_for_weights: int = Field(description="GPUs whose memory holds the weights and nothing else")
    gpus_whole_heads: int | None = Field(description="GPUs with a tensor parallelism that divides the heads")
    tp: int | None = Field(description="tensor parallelism of that layout")
    stages: int | None = Field(description="pipeline stages of that layout")
    bits_that_fit_one: float = Field(description="bits a weight may have to fit one GPU, weights alone")


class TimeFloorRow(Strict):
    """A time that no software beats."""

    name: str = Field(description="what is timed")
    kind: Literal["decode", "prefill", "host link", "fibre", "all-to-all", "phone"] = Field(
        description="decode, prefill, host link, fibre, all-to-all or phone"
    )
    model: str | None = Field(description="model, null for light")
    weight_bits: float | None = Field(description="bits of a weight")
    over: str = Field(description="board, link or cable")
    gpus: int | None = Field(description="chips that share the work")
    moved_gb: float | None = Field(description="bytes that must move, GB")
    floor_ms: float = Field(description="least time, ms")
    unit_of_work: str = Field(description="what the time is for: a token, a prompt, a round trip")


class FragmentationRow(Strict):
    """Share of KV memory that a layout wastes on the lengths of a public trace."""

    trace: str = Field(description="trace")
    layout: str = Field(description="how memory is given to a request")
    order: int = Field(description="order for charts")
    mean_tokens: float = Field(description="mean of prompt plus output, tokens")
    reserved_tokens: float = Field(description="mean tokens of memory that a request holds")
    waste: float = Field(description="share of what is held that no token uses")
    requests_in_same_memory: float = Field(
        description="requests that fit where the longest reservation holds one"
    )
    source: str = Field(description="whose lengths")
    dated: date = Field(description="day of the trace")


class ArithmeticRow(Strict):
    """Arithmetic that a claim contains, or that settles it."""

    claim: str = Field(description="claim")
    name: str = Field(description="what is computed")
    value: float = Field(description="result")
    claimed: float | None = Field(description="what the claim says of the same quantity, null if nothing")
    unit: str = Field(description="unit of value and claimed")
    working: str = Field(description="the arithmetic with its inputs")


class ReleaseRow(Strict):
    """A version that people name, and what the package index knew of it."""

    package: str = Field(description="package")
    version: str = Field(description="version as named")
    exists: bool = Field(description="whether there is a final release of it")
    newest: str = Field(description="newest final release on that day")
    source: str = Field(description="where that is from")
    dated: date = Field(description="day of the look-up")
