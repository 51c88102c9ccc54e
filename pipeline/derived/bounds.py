"""The least that a request can cost: bandwidth and peak at their full rating, the batch as large as fits."""

from __future__ import annotations

from pipeline.derived.cost import usd_per_million_tokens, usd_per_request
from pipeline.derived.fit import KV_BITS, Question, fit
from pipeline.derived.floors import decode_step_ms, prefill_ms
from pipeline.derived.memory import GB, kv_request_bytes, model_weight_bytes
from pipeline.schemas.catalogue import Board, Price
from pipeline.schemas.derived import CostRow

# Engines cap the requests of a batch; TensorRT-LLM at 2,048 (flag --max_batch_size).
LARGEST_BATCH = 2048


def cost_floor(asked: Question, price: Price, isl: int, osl: int, utilisation: float = 1.0) -> CostRow | None:
    """Lower bound of a request's cost; null where the model does not fit or its rule is not known.

    Args:
        asked: model, board and engine; its context is set to isl + osl.
        price: price of a GPU-hour.
        isl: prompt, tokens.
        osl: output, tokens.
        utilisation: share of full load that comes.
    """
    found = fit(asked)
    tflops = peak_tflops(asked.board, found.weight_bits)
    if not found.fits or not found.max_concurrent_requests or not tflops:
        return None
    batch = min(found.max_concurrent_requests, LARGEST_BATCH)
    prompt_ms = prefill_ms(_active(asked), isl, tflops, asked.tp)
    step_ms = _step_ms(asked, batch, isl + osl // 2)
    seconds_each = (prompt_ms + osl * step_ms / batch) / 1000
    rate = 1 / seconds_each
    tok_s_per_gpu = rate * osl / asked.tp
    return CostRow(
        model=asked.model.name,
        gpu=asked.board.name,
        gpus=asked.tp,
        weight_bits=found.weight_bits,
        isl=isl,
        osl=osl,
        batch=batch,
        utilisation=utilisation,
        usd_per_gpu_hour=price.usd,
        price_dated=price.dated,
        prefill_ms_floor=prompt_ms,
        tpot_ms_floor=step_ms,
        tok_s_per_gpu_bound=tok_s_per_gpu,
        usd_per_request_floor=usd_per_request(price.usd, asked.tp, rate, utilisation),
        usd_per_million_tokens_floor=usd_per_million_tokens(price.usd, tok_s_per_gpu * utilisation),
    )


def peak_tflops(board: Board, weight_bits: float) -> float | None:
    """The highest dense peak that weights of this width can use, TFLOP/s; null if none is known.

    Args:
        board: GPU board.
        weight_bits: bits of a weight, scales included; 4.5 and less count as 4-bit formats.
    """
    narrow = [board.fp4_tflops] if weight_bits <= 4.5 else []
    eight = [board.fp8_tflops] if weight_bits <= 8 else []
    return next((peak for peak in (*narrow, *eight, board.bf16_tflops) if peak), None)


def _active(asked: Question) -> float:
    return (asked.model.active_b or asked.model.parameters_b) * GB


def _step_ms(asked: Question, batch: int, tokens: int) -> float:
    """A decode step that reads weights once and every request's KV.

    Of a mixture of experts a batch reads at least the active share; the bound takes no more.
    """
    share = _active(asked) / (asked.model.parameters_b * GB)
    weights = model_weight_bytes(asked.model, asked.weight_bits) / asked.tp * share
    kv = batch * kv_request_bytes(asked.model.groups, tokens, KV_BITS[asked.kv_dtype], asked.tp)
    return decode_step_ms(weights, kv, asked.board.bandwidth_gb_s)
