"""One observation row: one cell, one repeat, one phase. Missing is None, never zero.

Result fields have no defaults: a writer that forgets one fails before anything is stored.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.schemas.base import Strict
from pipeline.schemas.words import Lane, Phase, Status

SCHEMA_VERSION = 2


class Observation(Strict):
    """A wide row; units are in the names, each column is defined here once."""

    schema_version: int = Field(description="version of this row's schema")
    run_id: str = Field(description="run that gave the row")
    cell_id: str = Field(description="hash of the cell's knobs and the engine version")
    series_id: str = Field(description="the same without engine and router versions, for history")
    workload_hash: str = Field(description="hash of the requests that were sent")
    host_id: str = Field(description="hash of the machine's description")
    experiment: str = Field(description="experiment name")
    lane: Lane = Field(description="evidence lane")
    phase: Phase = Field(description="whole run, its cold part or its steady part")
    repeat: int = Field(description="repeat number from 1; an A/A twin has a number of its own")
    twin_of_repeat: int | None = Field(
        description="repeat that this row repeats back to back (A/A), else null"
    )
    status: Status = Field(description="ok, failed or quarantined")
    failure: str | None = Field(description="why the cell failed, null where it did not")
    started_at: datetime = Field(description="start of the cell, UTC")
    duration_s: float | None = Field(description="first request sent to last answer, seconds")

    engine: str = Field(description="serving engine")
    engine_version: str | None = Field(description="read back from the server")
    model: str = Field(description="model folder's catalogue name")
    replicas: int = Field(description="servers behind the address measured")
    policy: str | None = Field(description="routing policy, null without a router")
    router_version: str | None = Field(description="router version, null without a router")
    answers_render: bool = Field(description="engine started so that a router can learn token ids")
    prefix_caching: bool = Field(description="prefix caching on")
    kv_pool_blocks: int | None = Field(
        description="KV pool of one replica, blocks, read back from the server"
    )
    kv_pool_tokens: int | None = Field(
        description="KV pool of one replica as configured: blocks x block size"
    )
    kv_pool_gib: float | None = Field(description="KV pool of one GPU, GiB, from blocks and bytes a token")
    kv_dtype: str | None = Field(description="type of the KV cache: auto or fp8; null before version 2")
    weights: str | None = Field(description="dummy, gaussian or own; null before version 2")
    backend: str | None = Field(description="backend of TensorRT-LLM, null where it is not named")
    admission: str | None = Field(description="capacity policy asked for, null for the engine's default")
    cuda_graphs: bool | None = Field(description="CUDA graphs asked for, null for the engine's default")
    chunked_prefill: bool | None = Field(
        description="chunked prefill asked for, null for the engine's default"
    )
    gpu_memory_share: float | None = Field(description="memory share asked for, 0 to 1, null if unset")
    kv_offload_gib: float | None = Field(description="host memory for KV blocks, GiB, null for none")
    weight_offload_gib: float | None = Field(description="weights in host memory, GiB, null for none")
    tensor_parallel: int | None = Field(description="GPUs of one replica; null before version 2")
    superseded: bool | None = Field(
        description="measured with an older version beside the new one; speaks on no page"
    )
    launch_id: str | None = Field(description="command line and configuration, in the view launches")
    traffic: str = Field(description="traffic name; contains shared, unshared or sessions")
    concurrency: int = Field(description="most requests in flight")
    request_rate_per_s: float | None = Field(description="open-loop arrival rate, null when closed loop")
    burstiness: float | None = Field(description="gamma shape of arrivals, null when closed loop")
    prompt_tokens_each: int = Field(description="new prompt tokens a request, shared prefix excluded")
    output_tokens_each: int = Field(description="output tokens a request")
    prefixes: int = Field(description="distinct shared prefixes")
    prefix_tokens: int = Field(description="tokens of each shared prefix")

    requests: int | None = Field(description="requests sent in this phase")
    requests_ok: int | None = Field(description="requests answered in full")
    requests_failed: int | None = Field(description="requests that ended in an error")
    ttft_p50_ms: float | None = Field(description="time to first token, median, ms")
    ttft_p90_ms: float | None = Field(
        description="time to first token, 90th percentile, ms (null below 100 requests)"
    )
    ttft_p99_ms: float | None = Field(
        description="time to first token, 99th percentile, ms (null below 1,000)"
    )
    ttft_mean_ms: float | None = Field(description="time to first token, mean, ms")
    tpot_p50_ms: float | None = Field(
        description="time per output token after the first, median over requests, ms"
    )
    tpot_p90_ms: float | None = Field(description="time per output token, 90th percentile, ms")
    tpot_p99_ms: float | None = Field(description="time per output token, 99th percentile, ms")
    e2e_p50_ms: float | None = Field(description="end-to-end latency, median, ms")
    e2e_p90_ms: float | None = Field(description="end-to-end latency, 90th percentile, ms")
    e2e_p99_ms: float | None = Field(description="end-to-end latency, 99th percentile, ms")
    queue_mean_ms: float | None = Field(
        description="time in the engine's waiting queue, mean, ms (engine's histogram)"
    )
    prefill_mean_ms: float | None = Field(description="prefill time, mean, ms (engine's histogram)")
    req_s: float | None = Field(description="requests answered per second")
    tok_s: float | None = Field(description="output tokens per second, all replicas")
    tok_s_per_gpu: float | None = Field(description="output tokens per second and GPU, null off GPU")
    prompt_tokens: int | None = Field(description="prompt tokens served, engine's count")
    output_tokens: int | None = Field(description="output tokens served, engine's count")
    cached_tokens: int | None = Field(description="prompt tokens taken from the prefix cache, engine's count")
    prefix_hit_rate: float | None = Field(description="cached_tokens / prompt tokens queried, 0 to 1")
    prefix_hit_ceiling: float | None = Field(
        description="hit rate if each shared prefix missed exactly once in this phase's history, 0 to 1"
    )
    preemptions: int | None = Field(description="requests preempted by the engine, all replicas")
    recomputed_tokens: int | None = Field(description="tokens computed again after preemptions")
    kv_usage_peak: float | None = Field(description="largest sampled share of KV blocks in use, 0 to 1")
    imbalance: float | None = Field(description="largest over mean number of requests per replica, 1 is even")
    router_prefix_hits: int | None = Field(description="router decisions by a known prefix")
    router_prefix_misses: int | None = Field(description="router decisions without a known prefix")
    router_missing_tokens: int | None = Field(
        description="router decisions without token ids (by load alone)"
    )
    sessions_split: int | None = Field(description="sessions that met more than one replica")
    rss_before_gib: float | None = Field(description="resident memory of the engines before load, GiB")
    rss_peak_gib: float | None = Field(description="largest sampled resident memory under load, GiB")
    rss_after_gib: float | None = Field(description="resident memory after load, GiB")
    vram_before_gib: float | None = Field(
        description="GPU memory of the engines' processes at rest before load, all GPUs, GiB"
    )
    vram_peak_gib: float | None = Field(description="largest sample of it under load, GiB")
    vram_after_gib: float | None = Field(description="the same after load, GiB")
    power_mean_w: float | None = Field(description="mean GPU power under load, all GPUs, W")
    card_before_gib: float | None = Field(
        description="memory in use on the cards before load, whoever uses it, GiB"
    )
    card_peak_gib: float | None = Field(description="largest sample of it under load, GiB")
    card_after_gib: float | None = Field(description="the same after load, GiB")
    card_total_gib: float | None = Field(description="memory of the cards, GiB")
    power_peak_w: float | None = Field(description="largest sampled GPU power, all GPUs, W")
    energy_j: float | None = Field(description="energy of the GPUs under load, J, by the cards' own counter")
    tok_s_per_w: float | None = Field(
        description="output tokens per second and watt; null where weights are an engine's own dummies"
    )
    sm_clock_mean_mhz: float | None = Field(description="mean SM clock under load, MHz")
    sm_clock_min_mhz: float | None = Field(description="lowest sampled SM clock under load, MHz")
    gpu_temperature_peak_c: float | None = Field(description="highest sampled temperature, degrees Celsius")
    throttled_share: float | None = Field(
        description="share of samples slowed by heat, power brake or hardware, 0 to 1"
    )
    power_capped_share: float | None = Field(description="share of samples held at the power limit, 0 to 1")
    card_shared: bool | None = Field(description="another process used the card; null where not visible")
    sampler_hz: float | None = Field(description="samples of the GPU a second")
    sampler_cpu_share: float | None = Field(description="time the sampler took of one core, 0 to 1")
    kv_offload_gib_moved: float | None = Field(
        description="KV moved between GPU and host, both ways, GiB, engine's count"
    )
    paused_requests: int | None = Field(description="largest number of paused requests, TensorRT-LLM's count")


class RequestRow(Strict):
    """One request of a promoted run, kept so that routing can be replayed."""

    cell_id: str = Field(description="cell that sent the request")
    repeat: int = Field(description="repeat of the cell")
    request_id: str = Field(description="name of the request")
    arrival_s: float = Field(description="sent, seconds after the cell's first request")
    prefix_id: int | None = Field(description="which shared prefix, null for none")
    session_id: str | None = Field(description="session it belongs to, null for none")
    turn: int | None = Field(description="turn of the session, from 0")
    worker: int | None = Field(description="replica that served it, from the engines' logs")
    input_tokens: int = Field(description="prompt tokens")
    output_tokens: int = Field(description="output tokens")
    cached_tokens: int | None = Field(description="prompt tokens taken from the prefix cache")
    ttft_ms: float | None = Field(description="time to first token, ms")
    e2e_ms: float | None = Field(description="end-to-end latency, ms")
