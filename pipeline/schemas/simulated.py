"""Rows of the simulated lane's tables. Times come from a step table and carry its error band."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.schemas.base import Strict

CellStatus = Literal["ok", "unstable"]
Winner = Literal["routing", "memory", "neither", "overload"]


class FleetCellRow(Strict):
    """One cell of the fleet grid: median over seeds; `low` and `high` are the smallest and largest seed."""

    cell: str = Field(description="hash of everything that was set; stable name of the cell")
    experiment: str = Field(description="part of the grid")
    traffic: str = Field(
        description="unshared, prefixes, tenants (prefixes grow with the fleet), sessions or regional"
    )
    policy: str = Field(description="routing policy of the whole fleet")
    serving: str = Field(description="model and GPUs of one replica")
    gpus_per_replica: int = Field(description="GPUs of one replica")
    replicas: int = Field(description="replicas of the whole fleet")
    kv_pool_gib: float = Field(description="KV pool of one replica, GiB")
    kv_pool_tokens: int = Field(description="KV pool of one replica, tokens")
    load_per_replica_s: float = Field(description="requests offered a second and replica")
    request_rate_s: float = Field(description="requests offered a second to the fleet")
    prompt_tokens: int = Field(description="tokens of a prompt")
    output_tokens: int = Field(description="tokens of an answer")
    shared_share: float = Field(description="part of a prompt that is a shared prefix")
    prefixes: int = Field(description="distinct shared prefixes, 0 without sharing")
    skew: float = Field(description="Zipf exponent of prefix popularity, 0 is even")
    working_set_pools: float = Field(description="all prefixes together over the KV pool of one replica")
    view_delay_ms: float = Field(description="age of what the router knows of load and caches, ms")
    regions: int = Field(description="regions of the fleet")
    regional_share: float | None = Field(
        description="part of requests whose prefix only their own region uses; null with one region"
    )
    peak_to_mean: float | None = Field(
        description="a region's load at its peak over its mean; null with one region"
    )
    requests: int = Field(description="requests simulated for each seed")
    seeds: int = Field(description="independent seeds")
    status: CellStatus = Field(description="ok, or unstable: more is offered than served, no latency exists")
    reason: str | None = Field(description="why a cell is unstable, null otherwise")
    ttft_p50_ms: float | None = Field(description="median time to first token, ms")
    ttft_p90_ms: float | None = Field(description="p90 of the time to first token, ms")
    ttft_p99_ms: float | None = Field(description="p99 of the time to first token, ms")
    ttft_p99_low_ms: float | None = Field(description="smallest p99 over seeds, ms")
    ttft_p99_high_ms: float | None = Field(description="largest p99 over seeds, ms")
    tpot_p50_ms: float | None = Field(description="median time per output token, ms")
    e2e_p50_ms: float | None = Field(description="median end-to-end latency, ms")
    hit_rate: float | None = Field(description="prompt tokens found in a cache over those admitted")
    hit_rate_low: float | None = Field(description="smallest seed")
    hit_rate_high: float | None = Field(description="largest seed")
    imbalance: float = Field(description="largest over mean number of requests a replica")
    imbalance_low: float = Field(description="smallest seed")
    imbalance_high: float = Field(description="largest seed")
    utilisation: float = Field(description="share of time a replica computes, mean over replicas")
    rejected_share: float = Field(description="requests turned away over those offered")
    preempted_share: float = Field(description="preemptions over requests")
    peak_kv_share: float = Field(description="most KV in use over the pool, the fullest replica")
    cross_region_share: float | None = Field(
        description="requests served outside their own region; null with one region"
    )
    cross_region_bytes: float | None = Field(
        description="bytes of prompts and answers that leave a region, a request; null with one region"
    )


class FleetExchangeRow(Strict):
    """What a better router replaces at one load and one kind of sharing, at equal p99 TTFT."""

    baseline: str = Field(description="policy that is replaced")
    policy: str = Field(description="policy that replaces memory or GPUs")
    kv_pool_gib: float = Field(description="KV pool of one GPU under the better policy, GiB")
    load_per_replica_s: float = Field(description="requests offered a second and GPU")
    shared_share: float = Field(description="part of a prompt that is a shared prefix")
    prefixes: int = Field(description="distinct shared prefixes, 0 without sharing")
    working_set_gib: float = Field(description="KV of all prefixes, GiB")
    winner: Winner = Field(
        description="what lowers p99 TTFT more: the better policy or a doubled pool; neither below 10 %; "
        "overload where both stay unstable"
    )
    ttft_p99_ms: float | None = Field(description="p99 TTFT under the better policy, null if unstable")
    ttft_p99_low_ms: float | None = Field(description="smallest seed")
    ttft_p99_high_ms: float | None = Field(description="largest seed")
    baseline_ttft_p99_ms: float | None = Field(description="the same under the baseline, same pool")
    doubled_ttft_p99_ms: float | None = Field(description="the same under the baseline, pool doubled")
    routing_gain: float | None = Field(
        description="baseline p99 over better policy's, same pool; null where one of them is unstable"
    )
    memory_gain: float | None = Field(
        description="baseline p99 over that with the pool doubled; null where one of them is unstable"
    )
    routing_over_memory: float | None = Field(
        description="p99 with the pool doubled over p99 with the better policy: above 1 routing is worth more"
    )
    kv_gib_replaced: float | None = Field(
        description="KV GiB a GPU that the baseline needs more to be as fast; null where none tried does"
    )
    kv_gib_replaced_at_least: float = Field(description="that, or the largest pool tried less this one")
    kv_reached: bool = Field(
        description="the baseline reaches the better policy's p99 at a pool that was tried"
    )
    gpus_factor: float | None = Field(
        description="GPUs of the baseline over the better policy's, same pool; null where none tried does"
    )
    gpus_factor_at_least: float | None = Field(
        description="that, or the largest fleet tried; null where the better policy is unstable"
    )
    gpus_reached: bool = Field(description="the baseline reaches that p99 with a fleet that was tried")


class FleetRegionRow(Strict):
    """How much a cache in each region saves of what would cross between regions."""

    source: str = Field(description="zipf, or the public trace that was replayed")
    regions: int = Field(description="regions")
    regional_share: float = Field(description="part of requests whose prefix only their own region uses")
    skew: float | None = Field(description="Zipf exponent of prefix popularity; null for a trace")
    cache_share: float = Field(description="cache of a region over all prefixes that several regions use")
    requests: int = Field(description="requests, all regions")
    hit_rate: float = Field(description="prefixes from elsewhere that the region's cache holds when asked")
    crossing_share: float = Field(description="requests whose prefix crosses between regions, with the cache")
    crossing_share_blind: float = Field(description="the same when any region serves any request, no cache")
    saving: float = Field(description="1 less crossing over crossing when blind")
    saving_low: float = Field(description="smallest seed")
    saving_high: float = Field(description="largest seed")
    saving_of_cache: float = Field(description="1 less crossing over crossing region first without a cache")
    seeds: int = Field(description="independent seeds")


class FleetCapacityRow(Strict):
    """GPUs that hold an objective at one request rate, by policy."""

    serving: str = Field(description="model and GPUs of one replica")
    policy: str = Field(description="routing policy")
    request_rate_s: float = Field(description="requests a second of the service")
    prompt_tokens: int = Field(description="tokens of a prompt")
    output_tokens: int = Field(description="tokens of an answer")
    shared_share: float = Field(description="part of a prompt that is a shared prefix")
    prefixes: int = Field(description="distinct shared prefixes")
    objective_ms: float = Field(description="p99 TTFT that must be held, ms")
    met: bool = Field(description="some fleet that was tried holds it")
    replicas: int | None = Field(description="fewest replicas that hold it, to 3 %; null where none does")
    gpus: int | None = Field(description="the same in GPUs")
    ttft_p99_ms: float | None = Field(description="p99 TTFT of that fleet, or of the largest one tried, ms")
    ttft_p99_low_ms: float | None = Field(description="smallest seed")
    ttft_p99_high_ms: float | None = Field(description="largest seed")
    tpot_p50_ms: float | None = Field(description="median time per output token of that fleet, ms")
    hit_rate: float | None = Field(description="prefix-cache hit rate of that fleet")
    largest_tried: int = Field(description="replicas of the largest fleet tried")
    prefill_ms: float = Field(description="time of one unshared prompt alone on a replica, ms")
    usd_per_gpu_hour: float = Field(description="price used")
    usd_per_request: float | None = Field(description="GPUs times price over requests")
    seeds: int = Field(description="independent seeds")


class FleetCascadeRow(Strict):
    """A small model first, a large one for what it cannot answer."""

    judge: str = Field(
        description="after: the small answer is read first; before: a classifier sends at once"
    )
    escalation: float = Field(description="part of requests that the large model answers")
    small: str = Field(description="small model and GPUs of its replica")
    large: str = Field(description="large model and GPUs of its replica")
    request_rate_s: float = Field(description="requests a second of the service")
    small_gpus: int = Field(description="GPUs for the small model")
    large_gpus: int = Field(description="GPUs for the large model")
    gpus: int = Field(description="both")
    large_only_gpus: int = Field(description="GPUs when the large model answers all")
    saving: float = Field(description="1 less GPUs over those of the large model alone; negative is dearer")
    ttft_p50_ms: float | None = Field(description="median time to the first token a user keeps, ms")
    ttft_p99_ms: float | None = Field(description="p99 of it, ms")
    ttft_p99_low_ms: float | None = Field(description="smallest seed")
    ttft_p99_high_ms: float | None = Field(description="largest seed")
    large_only_ttft_p99_ms: float | None = Field(description="p99 TTFT when the large model answers all, ms")
    usd_per_request: float = Field(description="GPUs times price over requests")
    saving_usd_per_request: float = Field(description="saved against the large model alone, USD")
    seeds: int = Field(description="independent seeds")


class FleetMoeRow(Strict):
    """Traffic of expert parallelism, from tokens that choose experts at random."""

    model: str = Field(description="shape: experts, experts a token, hidden size, layers")
    chips: int = Field(description="chips that the experts are spread over")
    per_node: int = Field(description="chips of one node")
    skew: float = Field(description="Zipf exponent of expert popularity, 0 is even")
    tokens_per_chip: int = Field(description="tokens that a chip holds in one step")
    copies_per_token: float = Field(description="other chips that get a copy of a token, mean")
    nodes_per_token: float = Field(description="other nodes that get a copy of a token, mean")
    mb_per_token: float = Field(description="sent and received by a token over all layers, MB")
    cross_node_mb_per_token: float = Field(description="of that, between nodes, MB")
    imbalance: float = Field(description="busiest chip's expert load over the mean")
    imbalance_low: float = Field(description="smallest seed")
    imbalance_high: float = Field(description="largest seed")
    link: str = Field(description="link between nodes")
    link_gb_s: float = Field(description="its bandwidth a chip, one way, GB/s")
    all_to_all_ms: float = Field(
        description="least time of all exchanges of a step: busiest chip over the link, ms"
    )
    gb_s_at_10_ms: float = Field(description="bandwidth a chip that a step of 10 ms needs, GB/s")
    seeds: int = Field(description="independent seeds")


class StepTableRow(Strict):
    """The step table behind a serving of the simulated lane, at a few points."""

    serving: str = Field(description="model and GPUs of one replica")
    gpus_per_replica: int = Field(description="GPUs of one replica")
    weights_gib: float = Field(description="weights of the model, GiB")
    kv_kib_per_token: float = Field(description="KV of one token, KiB")
    basis: str = Field(description="modelled or roofline: where step times are from")
    error: float | None = Field(description="relative error that the source states, null if it states none")
    source: str = Field(description="source with its day")
    batch: int = Field(description="requests that decode together")
    context_tokens: int = Field(description="mean tokens a request has seen")
    decode_ms: float = Field(description="time of one decode step, ms")
    prefill_ms_per_1000_tokens: float = Field(description="time that 1,000 prompt tokens add, ms")


class FleetCheckRow(Strict):
    """The simulator against something that is known."""

    check: str = Field(description="what is compared")
    setting: str = Field(description="load, size, policy")
    expected: float = Field(description="value that is known")
    measured: float = Field(description="value that the simulator gives")
    low: float | None = Field(
        description="lower end of its 95 % interval, null where there is no chance in it"
    )
    high: float | None = Field(description="upper end")
    gap: float = Field(description="measured over expected less one; for rates and counts the difference")
    tolerance: float | None = Field(description="largest gap that passes, null where it is only reported")
    passed: bool | None = Field(description="whether it does, null where it is only reported")
    source: str = Field(description="where the expected value is from")
    note: str = Field(description="what must be known of the gap")
