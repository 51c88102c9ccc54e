"""Catalogues of the derived lane: models, boards, links, prices, logs, each entry with source and day."""

from __future__ import annotations

from datetime import date
from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored

AttentionKind = Literal["mha", "gqa", "mla", "hybrid", "unknown"]
"""mha: a KV head for each head; gqa: fewer; mla: one latent vector; hybrid: windows or states beside them."""
GroupKind = Literal["full", "window", "latent", "index", "state"]
"""full: keys and values of every token; window: of the last tokens; latent: one vector a token, the same on
every GPU of a tensor-parallel group; index: a fixed number of bytes a token; state: fixed bytes a request."""
DateBasis = Literal["stated", "read"]
"""stated: the source prints the day; read: it prints none, so this is the day it was read."""


class Sourced(Authored):
    """An entry that says where it is from and of which day it is."""

    source: str = Field(min_length=8, description="where the values are from")
    dated: date = Field(description="day of the source")


class KvGroup(Authored):
    """Layers of one kind, with what they keep of a request."""

    kind: GroupKind = Field(description="full, window, latent, index or state")
    layers: int = Field(gt=0, description="number of layers")
    kv_heads: int = Field(0, ge=0, description="KV heads of a full or window layer")
    key_dim: int = Field(0, ge=0, description="elements of a key; of the whole vector for latent")
    value_dim: int = Field(0, ge=0, description="elements of a value; 0 for latent")
    window_tokens: int = Field(0, ge=0, description="tokens that a window layer keeps")
    fixed_bytes: int = Field(
        0, ge=0, description="bytes a token and layer (index) or a request and layer (state)"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        heads = self.kind in ("full", "window")
        if heads and not (self.kv_heads and self.key_dim and self.value_dim):
            raise ValueError(f"a {self.kind} group needs kv_heads, key_dim and value_dim")
        if self.kind == "window" and not self.window_tokens:
            raise ValueError("a window group needs window_tokens")
        if self.kind == "latent" and not self.key_dim:
            raise ValueError("a latent group needs key_dim")
        if self.kind in ("index", "state") and not self.fixed_bytes:
            raise ValueError(f"a {self.kind} group needs fixed_bytes")
        return self


class Model(Sourced):
    """One model: its size, and what its attention keeps."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="name in this catalogue")
    ids: tuple[str, ...] = Field((), description="Hugging Face ids with this shape and these weights")
    architecture: str | None = Field(None, description="architecture as the config names it")
    parameters_b: float = Field(gt=0, description="parameters, billions")
    parameters_basis: Literal["counted", "name", "paper", "estimated"] = Field(
        description="counted from the config, from the name, from a paper, or counted as if Llama-like"
    )
    active_b: float | None = Field(None, gt=0, description="parameters used for one token, billions")
    wide_b: float = Field(
        0.0, ge=0, description="parameters that a quantised checkpoint keeps at 16 bits, billions"
    )
    weight_bits: float = Field(16.0, gt=0, le=32, description="bits of a weight in the checkpoint")
    attention: AttentionKind = Field(description="mha, gqa, mla, hybrid or unknown")
    layers: int | None = Field(None, gt=0, description="layers")
    hidden_size: int | None = Field(None, gt=0, description="elements of the residual stream")
    heads: int | None = Field(None, gt=0, description="query heads")
    experts: int | None = Field(None, gt=0, description="routed experts of a layer, null for dense models")
    experts_per_token: int | None = Field(None, gt=0, description="routed experts used for a token")
    max_context: int | None = Field(None, gt=0, description="longest context, tokens")
    groups: tuple[KvGroup, ...] = Field((), description="what each kind of layer keeps; empty if unknown")
    kv_note: str | None = Field(None, description="what the KV rule leaves out, or why there is none")


class Models(Authored):
    """`models.toml` and `sizes.toml`."""

    models: tuple[Model, ...]


class Board(Sourced):
    """A GPU board, a phone or a chip of a TPU pod."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="name in this catalogue")
    aliases: tuple[str, ...] = Field((), description="other names that people type")
    title: str = Field(description="as the vendor calls it")
    kind: Literal["gpu", "phone", "tpu"] = Field(description="gpu, phone or tpu")
    memory_gb: float = Field(gt=0, description="memory as sold, GB")
    memory_gib: float = Field(gt=0, description="memory an engine can see, GiB")
    memory_basis: Literal["log", "package", "nominal"] = Field(
        description="where memory_gib is from: an engine's log, the package's table, or memory_gb read as GiB"
    )
    bandwidth_gb_s: float = Field(gt=0, description="memory bandwidth, GB/s")
    bf16_tflops: float | None = Field(None, gt=0, description="dense 16-bit peak, TFLOP/s")
    fp8_tflops: float | None = Field(None, gt=0, description="dense 8-bit peak, TFLOP/s")
    fp4_tflops: float | None = Field(None, gt=0, description="dense 4-bit peak, TFLOP/s")
    power_w: float | None = Field(None, gt=0, description="rated board power (TDP), W; not a measurement")
    form_factor: str = Field(description="how it is mounted")
    per_node: int | None = Field(None, gt=0, description="chips in a usual node; in the pod for a TPU")
    host_link: str | None = Field(None, description="link to host memory, by its name")
    peer_link: str | None = Field(None, description="link to the other GPUs of a node, by its name")


class Boards(Authored):
    """`hardware.toml`."""

    boards: tuple[Board, ...]


class Link(Sourced):
    """A link that bytes cross."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="name in this catalogue")
    title: str = Field(description="as people call it")
    gb_s: float = Field(gt=0, description="bandwidth one way and a GPU, GB/s")
    basis: Literal["nominal", "measured"] = Field(
        description="as the standard says, or as a source measured it"
    )


class Route(Sourced):
    """Two places and the length of the cable between them."""

    name: str = Field(description="from and to")
    cable_km: float = Field(gt=0, description="length of the cable, km")


class Links(Authored):
    """`links.toml`."""

    links: tuple[Link, ...]
    routes: tuple[Route, ...]


class Price(Sourced):
    """What something costs. Without a date or a source it is refused."""

    item: str = Field(pattern=r"^[a-z0-9_]+$", description="board or service, by its name")
    unit: Literal["USD per GPU-hour", "USD per GB"] = Field(description="what usd is for")
    usd: float = Field(ge=0, description="price that calculations use")
    low_usd: float = Field(ge=0, description="lowest price in the source")
    high_usd: float = Field(ge=0, description="highest price in the source")
    dated_basis: DateBasis = Field("stated", description="whether the source prints its day")

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if not self.low_usd <= self.usd <= self.high_usd:
            raise ValueError("usd lies outside low_usd to high_usd")
        return self


class Prices(Authored):
    """`prices.toml`: edit it, then `weighbridge run derived`."""

    prices: tuple[Price, ...]


class KvLog(Sourced):
    """A public log line that tells the size of a KV pool, or what it was made of."""

    name: str = Field(description="short name")
    engine: Literal["vllm", "tensorrt_llm"]
    engine_version: str | None = Field(None, description="version, null if the source does not tell")
    model: str | None = Field(None, description="name in the model catalogue, null if the log names none")
    gpu: str | None = Field(None, description="board as the source names it")
    tp: int = Field(gt=0, description="tensor parallelism")
    kv_bits: int = Field(gt=0, description="bits of a KV element")
    pool_gib: float = Field(gt=0, description="KV pool of a GPU, GiB, as printed")
    tokens: int | None = Field(None, gt=0, description="tokens in the pool, as printed")
    memory_gib: float | None = Field(
        None, gt=0, description="memory of the card, or what was left of it, GiB"
    )
    fraction: float | None = Field(None, gt=0, le=1, description="share that the engine was given")
    used_gib: float | None = Field(
        None, ge=0, description="profiled peak: weights, activations, the rest, GiB"
    )
    dated_basis: DateBasis = Field("stated", description="whether the source prints its day")
    hybrid: bool = Field(False, description="log of a hybrid model: tokens are concurrency times length")


class KvLogs(Authored):
    """`kv_logs.toml`."""

    logs: tuple[KvLog, ...]


class Release(Sourced):
    """A version that people name, and what the package index knows of it."""

    package: str = Field(description="package")
    version: str = Field(description="version as named")
    exists: bool = Field(description="whether the index has a final release of it")
    newest: str = Field(description="newest final release on that day")


class Releases(Authored):
    """`releases.toml`."""

    releases: tuple[Release, ...]


class Lengths(Sourced):
    """Lengths of the requests of a public trace, as a histogram of prompt plus output tokens."""

    trace: str = Field(description="name of the trace")
    requests: int = Field(gt=0, description="requests")
    input_mean: float = Field(gt=0, description="mean prompt, tokens")
    output_mean: float = Field(gt=0, description="mean output, tokens")
    total_mean: float = Field(gt=0, description="mean of prompt plus output, tokens")
    total_p50: int = Field(gt=0, description="median of prompt plus output, tokens")
    total_p90: int = Field(gt=0, description="90th percentile of prompt plus output, tokens")
    total_p99: int = Field(gt=0, description="99th percentile of prompt plus output, tokens")
    total_max: int = Field(gt=0, description="longest prompt plus output, tokens")
    tail_tokens_16: float = Field(ge=0, description="mean unused tokens of the last block, blocks of 16")
    tail_tokens_32: float = Field(ge=0, description="mean unused tokens of the last block, blocks of 32")
    pow2_mean: float = Field(
        gt=0, description="mean of prompt plus output rounded up to a power of two, tokens"
    )


class LengthSets(Authored):
    """`lengths.toml`."""

    lengths: tuple[Lengths, ...]
