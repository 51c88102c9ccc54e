"""The grids of `fit` and `cost`, and the GPUs that sizes need."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pipeline.catalogue import Catalogue
from pipeline.derived.bounds import cost_floor
from pipeline.derived.capacity import divides, gpus_for_bytes, smallest_layout
from pipeline.derived.fit import Question, fit
from pipeline.derived.memory import GB, model_weight_bytes, weight_bytes
from pipeline.schemas.catalogue import Board, Model
from pipeline.schemas.derived import CostRow, FitRow, GpusNeededRow

MODELS = (
    "size-0.4b",
    "size-2.5b",
    "size-13gb",
    "size-70b",
    "size-175b",
    "size-540b",
    "size-1t-moe",
    "llama-2-7b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "qwen3-8b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "qwen3.5-27b",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "deepseek-r1",
    "kimi-k2-instruct",
)
BOARDS = (
    "rtx_4060",
    "t4",
    "l4",
    "rtx_4090",
    "l40s",
    "a100_pcie_40",
    "a100_sxm_80",
    "h100_sxm",
    "h200_sxm",
    "b200_sxm",
)
ENGINES = ("vllm", "tensorrt_llm")
WIDTHS = (16.0, 8.0, 4.0)
TPS = (1, 2, 4, 8)
CONTEXTS = (1024, 4096, 32768)
SHAPES = ((1000, 1000), (8000, 1000), (200, 200))
UTILISATIONS = (1.0, 0.3)
# Memory caps that the claims name, GB, beside the boards.
CAPS = (2.0, 4.0, 8.0, 16.0, 24.0)
SIZES = (
    "size-0.4b",
    "size-2.5b",
    "size-13gb",
    "size-70b",
    "size-175b",
    "size-300b",
    "size-540b",
    "size-1t-moe",
)


def widths_of(model: Model) -> tuple[float, ...]:
    """Widths asked for: the checkpoint's own where it is quantised, else 16, 8 and 4 bits."""
    return (model.weight_bits,) if model.weight_bits < WIDTHS[0] else WIDTHS


def questions(known: Catalogue) -> Iterator[Question]:
    """Every combination with whole heads."""
    for name, board_name, tp in product(MODELS, BOARDS, TPS):
        model, board = known.model(name), known.board(board_name)
        if not divides(model.heads, tp) or tp > (board.per_node or 1):
            continue
        for engine, bits, kv, context in product(ENGINES, widths_of(model), ("fp16", "fp8"), CONTEXTS):
            yield Question(model, board, engine, tp, kv, context, weight_bits=bits)


def fits(known: Catalogue) -> Iterator[FitRow]:
    """The grid of `fit`."""
    return (fit(asked) for asked in questions(known))


def costs(known: Catalogue) -> Iterator[CostRow]:
    """The grid of `cost`: vLLM's rule, 16-bit KV, where it fits and a price is known."""
    for name, board_name, tp in product(MODELS, BOARDS, TPS):
        model, board, price = known.model(name), known.board(board_name), known.price(board_name)
        if price is None or not divides(model.heads, tp):
            continue
        for bits, (isl, osl), utilisation in product(widths_of(model), SHAPES, UTILISATIONS):
            asked = Question(model, board, "vllm", tp, "fp16", isl + osl, weight_bits=bits)
            row = cost_floor(asked, price, isl, osl, utilisation)
            if row is not None:
                yield row


def gpus_needed(known: Catalogue) -> Iterator[GpusNeededRow]:
    """Fewest GPUs by size, bits and memory: bare caps, then boards."""
    for name, bits in product(SIZES, WIDTHS):
        model = known.model(name)
        for cap in CAPS:
            yield _needed(model, bits, cap, None)
        for board_name in BOARDS:
            board = known.board(board_name)
            yield _needed(model, bits, board.memory_gb, board)


def _needed(model: Model, bits: float, memory_gb: float, board: Board | None) -> GpusNeededRow:
    total = weight_bytes(model.parameters_b * GB, bits)
    layout = smallest_layout(total, memory_gb * GB, model.heads, model.layers)
    return GpusNeededRow(
        model=model.name,
        parameters_b=model.parameters_b,
        weight_bits=bits,
        weights_gb=model_weight_bytes(model, bits) / GB,
        memory_gb=memory_gb,
        gpu=board.name if board else None,
        gpus_for_weights=gpus_for_bytes(total, memory_gb * GB),
        gpus_whole_heads=layout.gpus if layout else None,
        tp=layout.tp if layout else None,
        stages=layout.stages if layout else None,
        bits_that_fit_one=memory_gb * 8 / model.parameters_b,
    )
