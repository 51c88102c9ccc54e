"""Whether a model fits a board under an engine's rule, and how many requests then fit beside it."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.derived.capacity import concurrent_requests, divides, pool_tokens
from pipeline.derived.memory import GIB, kv_bytes_per_token, model_weight_bytes
from pipeline.derived.pools import BLOCK_TOKENS, DEFAULT_FRACTION, POOL_RULES, assumed_overhead_gib
from pipeline.errors import InputError
from pipeline.schemas.catalogue import Board, Model
from pipeline.schemas.derived import FitRow

KV_BITS = {"fp16": 16, "bf16": 16, "auto": 16, "fp8": 8, "fp4": 4}
DEFAULT_CONTEXT = 4096
BASIS_NOTES = {
    "name": "parameters as the model's name says",
    "estimated": "parameters counted as if the model were Llama-like; its published total was not checked",
}


@dataclass(frozen=True)
class Question:
    """What is asked of `fit`.

    Attributes:
        model: model.
        board: GPU board.
        engine: vllm or tensorrt_llm.
        tp: GPUs of one replica.
        kv_dtype: width of KV elements.
        context: length of every request, tokens.
        fraction: share given to the engine; its default if null.
        pool_gib: KV pool of a GPU set by hand, GiB; the engine's rule if null.
        weight_bits: bits of a weight; the checkpoint's if null.
        overhead_gib: memory of activations, graphs and the rest on a GPU, GiB; assumed if null.
    """

    model: Model
    board: Board
    engine: str
    tp: int = 1
    kv_dtype: str = "fp16"
    context: int = DEFAULT_CONTEXT
    fraction: float | None = None
    pool_gib: float | None = None
    weight_bits: float | None = None
    overhead_gib: float | None = None

    @property
    def share(self) -> float:
        """The share given to the engine."""
        return DEFAULT_FRACTION[self.engine] if self.fraction is None else self.fraction

    @property
    def overhead(self) -> float:
        """Memory besides weights and KV on a GPU, GiB."""
        return assumed_overhead_gib(self.board.memory_gib) if self.overhead_gib is None else self.overhead_gib


def fit(asked: Question) -> FitRow:
    """The answer, with its assumptions in `notes`.

    Raises:
        InputError: an impossible value: a share outside 0 to 1, a parallelism that does not divide the heads.
    """
    _require_possible(asked)
    weights = model_weight_bytes(asked.model, asked.weight_bits) / asked.tp
    pool = _pool_bytes(asked, weights)
    token_bytes, tokens, requests = _capacity(asked, pool)
    # With a pool set by hand nothing is assumed: the engine skips its own check as well.
    overhead = 0.0 if asked.pool_gib is not None and asked.overhead_gib is None else asked.overhead
    used = weights / GIB + overhead
    in_card = used + pool / GIB <= asked.board.memory_gib + 1e-9
    return FitRow(
        model=asked.model.name,
        gpu=asked.board.name,
        engine=asked.engine,
        tp=asked.tp,
        weight_bits=asked.model.weight_bits if asked.weight_bits is None else asked.weight_bits,
        kv_dtype="fp16" if KV_BITS[asked.kv_dtype] == 16 else asked.kv_dtype,
        context_tokens=asked.context,
        memory_fraction=asked.share,
        gpu_memory_gib=asked.board.memory_gib,
        weights_gib_per_gpu=round(weights / GIB, 4),
        overhead_gib_per_gpu=overhead,
        kv_bytes_per_token_per_gpu=token_bytes,
        kv_pool_gib_per_gpu=round(pool / GIB, 4),
        kv_pool_tokens=tokens,
        max_concurrent_requests=requests,
        reserved_gib_per_gpu=round(used + pool / GIB, 4),
        fits=in_card and pool > 0 and requests != 0,
        notes="; ".join(_notes(asked, in_card, pool, requests)),
    )


def _require_possible(asked: Question) -> None:
    wrong = None
    if asked.engine not in POOL_RULES:
        wrong = f"unknown engine {asked.engine!r}: vllm or tensorrt_llm"
    elif not 0 < asked.share <= 1:
        wrong = f"memory fraction {asked.share:g} is not between 0 and 1"
    elif asked.kv_dtype not in KV_BITS:
        wrong = f"unknown KV type {asked.kv_dtype!r}: {', '.join(KV_BITS)}"
    elif asked.tp < 1 or (asked.model.heads and not divides(asked.model.heads, asked.tp)):
        wrong = f"{asked.tp} GPUs do not divide the {asked.model.heads} heads of {asked.model.name} (--tp)"
    elif asked.context < 1 or (asked.pool_gib is not None and asked.pool_gib < 0):
        wrong = "context and KV pool must be positive"
    if wrong:
        raise InputError(wrong, next_step="weighbridge fit --help")


def _pool_bytes(asked: Question, weights: float) -> float:
    if asked.pool_gib is not None:
        return asked.pool_gib * GIB
    used = weights + asked.overhead * GIB
    return POOL_RULES[asked.engine](asked.board.memory_gib * GIB, asked.share, used)


def _capacity(asked: Question, pool: float) -> tuple[int | None, int | None, int | None]:
    """Bytes a token, tokens of the pool, requests at once; all null where the model's rule is not known."""
    groups, bits, block = asked.model.groups, KV_BITS[asked.kv_dtype], BLOCK_TOKENS[asked.engine]
    if not groups:
        return None, None, None
    each = kv_bytes_per_token(groups, bits, asked.tp)
    requests = concurrent_requests(pool, groups, asked.context, bits, asked.tp, block)
    if asked.model.attention == "hybrid":
        return each, requests * asked.context, requests
    return each, pool_tokens(pool, each, block), requests


def _notes(asked: Question, in_card: bool, pool: float, requests: int | None) -> list[str]:
    found = []
    if asked.pool_gib is None:
        found.append(f"{asked.overhead:g} GiB a GPU assumed for activations, graphs and the rest")
    else:
        found.append("KV pool as given; nothing is set aside for activations unless --overhead-gib says so")
    if asked.board.memory_basis == "nominal":
        found.append("memory of the card is its nominal size; engines see less")
    if asked.model.attention == "hybrid":
        found.append(
            "hybrid model: bytes a token are those of its full layers; windows and states come on top"
        )
    if asked.model.kv_note:
        found.append(asked.model.kv_note)
    if basis := BASIS_NOTES.get(asked.model.parameters_basis):
        found.append(basis)
    if pool <= 0 or not in_card:
        found.append("does not fit: weights and the rest exceed what the engine may use")
    elif requests == 0:
        found.append(f"does not fit: no request of {asked.context:,} tokens fits the KV pool")
    return found
