"""One cell: everything that is set on purpose for one measurement."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored
from pipeline.schemas.words import Admission, Engine, KvType, Lane, Policy, Weights

# Knobs that only one engine has.
ONLY_FOR: dict[str, Engine] = {
    "backend": "tensorrt-llm",
    "admission": "tensorrt-llm",
    "weight_offload_gib": "vllm",
    "kv_pool_blocks": "vllm",
}


class EngineKnobs(Authored):
    """How the serving engine is started. Two cells with equal knobs share servers."""

    name: Engine = Field(description="serving engine")
    version: str | None = Field(
        None, description="version other than the profile's; not part of a series, so history goes on"
    )
    model: str = Field(description="model folder by catalogue name, made locally")
    kv_pool_blocks: int | None = Field(None, ge=2, description="KV pool, blocks (engine default if unset)")
    block_size_tokens: int = Field(32, ge=0, description="tokens in a KV block (0: the engine's default)")
    max_model_len_tokens: int = Field(2048, ge=64, description="longest sequence, prompt and output")
    prefix_caching: bool = Field(True, description="reuse KV of equal prompt starts")
    max_num_seqs: int | None = Field(None, ge=1, description="most requests in one batch")
    replicas: int = Field(1, ge=1, description="equal servers started side by side")
    answers_render: bool = Field(
        True, description="engine tells a router the token ids of a prompt (--enable-scale-out)"
    )
    iteration_log: bool = Field(
        False, description="engine logs the tokens of every step, from which recomputed tokens are counted"
    )
    weights: Weights = Field(
        "dummy", description="the engine's own dummy loader, one seeded Gaussian set, or the owner's weights"
    )
    kv_pool_bytes: int | None = Field(None, ge=1, description="KV pool, bytes on each GPU")
    gpu_memory_share: float | None = Field(
        None, gt=0, le=1, description="vLLM: of the whole card; TensorRT-LLM: of what is free after start"
    )
    kv_dtype: KvType = Field("auto", description="type of the KV cache: as the weights, or 8-bit floats")
    chunked_prefill: bool | None = Field(None, description="split long prompts (engine default if unset)")
    max_num_batched_tokens: int | None = Field(None, ge=1, description="most tokens in one step")
    cuda_graphs: bool | None = Field(None, description="CUDA graphs (engine default if unset)")
    admission: Admission | None = Field(None, description="capacity policy of TensorRT-LLM")
    backend: Literal["pytorch", "tensorrt"] | None = Field(
        None, description="backend of TensorRT-LLM; `tensorrt` builds a static engine at start"
    )
    kv_offload_gib: float | None = Field(None, gt=0, description="host memory for KV blocks, GiB")
    weight_offload_gib: float | None = Field(None, gt=0, description="weights kept in host memory, GiB")
    tensor_parallel: int = Field(1, ge=1, description="GPUs that share each layer of one replica")

    @model_validator(mode="after")
    def _knobs_of_this_engine(self) -> Self:
        for knob, engine in ONLY_FOR.items():
            if getattr(self, knob) is not None and self.name != engine:
                raise ValueError(f"{knob} is a knob of {engine}")
        if self.kv_pool_bytes and (self.kv_pool_blocks or self.gpu_memory_share):
            raise ValueError("the KV pool is set once: kv_pool_bytes, kv_pool_blocks or gpu_memory_share")
        return self

    @property
    def gpus(self) -> int:
        """GPUs that one replica takes."""
        return self.tensor_parallel


class RouterKnobs(Authored):
    """How the router in front of the replicas is started."""

    policy: Policy = Field(description="routing policy, named as vllm-router names it")


class Workload(Authored):
    """The requests of one cell; generated deterministically from these fields alone."""

    traffic: str = Field(description="name shown in tables, e.g. shared-even, unshared, sessions")
    requests: int = Field(ge=1, description="requests sent in all")
    concurrency: int = Field(ge=1, description="most requests in flight")
    prompt_tokens: int = Field(
        ge=1, description="new prompt tokens of each request, the shared prefix excluded"
    )
    output_tokens: int = Field(ge=1, description="output tokens of each request, exact")
    prefixes: int = Field(0, ge=0, description="distinct shared prefixes (0: none)")
    prefix_tokens: int = Field(0, ge=0, description="tokens of each shared prefix")
    prefix_skew: float = Field(0.0, ge=0.0, description="Zipf exponent of prefix popularity (0: even)")
    turns: int = Field(1, ge=1, description="turns of a session; each carries all before it")
    request_rate_per_s: float | None = Field(
        None, gt=0, description="open-loop arrivals; closed loop if unset"
    )
    burstiness: float | None = Field(
        None, gt=0, description="gamma shape of arrivals: 1 is Poisson, below 1 is bursty"
    )
    seed: int = Field(1, ge=0, description="seed of the generator")


class Cell(Authored):
    """One measurement, to be repeated. Identity is in `pipeline.schemas.identity`."""

    experiment: str = Field(description="experiment this cell belongs to")
    lane: Lane = Field(description="evidence lane")
    engine: EngineKnobs
    router: RouterKnobs | None = Field(None, description="router in front, none for a single server")
    workload: Workload
    watch_memory: bool = Field(False, description="sample process memory and KV usage before, in and after")
