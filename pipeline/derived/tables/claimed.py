"""Arithmetic that claims contain, worked out with their own numbers."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.catalogue import Catalogue
from pipeline.derived.cost import token_budget_ms, usd_of_idle_memory, usd_per_gb_hour, usd_per_year
from pipeline.derived.floors import all_to_all_bytes, transfer_ms
from pipeline.derived.memory import GB, kv_bytes_per_token, weight_bytes
from pipeline.derived.tables.times import EXPERT_GPUS
from pipeline.schemas.derived import ArithmeticRow

EXPERT_BATCH = 64
TEXT_BYTES_PER_TOKEN = 4


def arithmetic(known: Catalogue) -> Iterator[ArithmeticRow]:
    """All rows, by claim."""
    yield from _paging(known)
    yield from _compression(known)
    yield from _idle(known)
    yield from _yearly()
    yield from _traffic(known)
    yield from _experts(known)


def _row(
    claim: str, name: str, value: float, claimed: float | None, unit: str, working: str
) -> ArithmeticRow:
    return ArithmeticRow(claim=claim, name=name, value=value, claimed=claimed, unit=unit, working=working)


def _paging(known: Catalogue) -> Iterator[ArithmeticRow]:
    budget = token_budget_ms(20)
    yield _row(
        "M06",
        "time that 20 tokens/s leaves for each",
        budget,
        12.0,
        "ms",
        "1000 / 20; the claimed 12 ms fits",
    )
    token = kv_bytes_per_token(known.model("llama-3.1-8b").groups, 16)
    link = known.link("host_dma_h100")
    moved = 12.0 * link.gb_s * 1e6
    yield _row(
        "M06",
        "KV that 12 ms can move",
        moved / token,
        None,
        "tokens",
        f"12 ms x {link.gb_s:g} GB/s / {token:,.0f} B",
    )
    yield _row(
        "M06",
        "time to move the KV of one token",
        transfer_ms(token, link.gb_s),
        12.0,
        "ms",
        f"{token:,.0f} B / {link.gb_s:g} GB/s",
    )


def _compression(known: Catalogue) -> Iterator[ArithmeticRow]:
    """What 8-bit KV saves at several numbers of resident tokens."""
    groups = known.model("llama-3.1-8b").groups
    for tokens in (4_096, 131_072, 432_992):
        saved = tokens * (kv_bytes_per_token(groups, 16) - kv_bytes_per_token(groups, 8)) / GB
        yield _row("M08", f"{tokens:,} resident tokens", saved, 2.0, "GB", "Llama-3.1-8B, 16 to 8 bits")


def _idle(known: Catalogue) -> Iterator[ArithmeticRow]:
    yield _row(
        "M15",
        "12 GB idle at the claimed sum",
        12 * 0.03,
        0.12,
        "USD",
        "12 GB x 0.03 USD, beside a price of 0.12",
    )
    yield _row("M15", "price over memory", usd_per_gb_hour(2.4, 80), 0.03, "USD/GB/h", "2.4 USD/h / 80 GB")
    price, board = known.price("h100_sxm"), known.board("h100_sxm")
    if price is not None:
        cost = usd_of_idle_memory(12, price.usd, board.memory_gb, 10)
        yield _row(
            "M15", "12 GB idle for ten seconds", cost, 0.36, "USD", f"12 / 80 x {price.usd} USD/h x 10 s"
        )
        share = 12 / board.memory_gb
        yield _row(
            "M16",
            "share of a card that 12 GB are",
            share,
            1.0,
            "",
            "12 GB / 80 GB: the most that idling them costs",
        )


def _yearly() -> Iterator[ArithmeticRow]:
    billions = usd_per_year(0.12, 10_000) / 1e9
    yield _row(
        "M16",
        "a year at the claimed price",
        billions,
        None,
        "billion USD",
        "0.12 USD x 10,000/s x 31,536,000 s",
    )


def _traffic(known: Catalogue) -> Iterator[ArithmeticRow]:
    """What crossing regions costs for a request of 1,000 and 1,000 tokens, as text or as KV."""
    price = known.price("between_regions")
    if price is None:
        return
    text = 2_000 * TEXT_BYTES_PER_TOKEN / GB * price.usd
    yield _row("R03", "text of a request", text, 0.0, "USD", f"2,000 tokens x 4 B x {price.usd} USD/GB")
    for name in ("llama-3.1-8b", "llama-3.1-70b"):
        moved = 1_000 * kv_bytes_per_token(known.model(name).groups, 16)
        yield _row(
            "R03",
            f"KV of a prompt, {name}",
            moved / GB * price.usd,
            0.0,
            "USD",
            f"{moved / GB:.3g} GB x {price.usd} USD/GB",
        )


def _experts(known: Catalogue) -> Iterator[ArithmeticRow]:
    model = known.model("size-1t-moe")
    if not (model.layers and model.experts_per_token and model.hidden_size):
        return
    each = all_to_all_bytes(model.layers - 1, model.experts_per_token, model.hidden_size, 1, EXPERT_GPUS)
    for name in ("nvlink4", "infiniband_400g", "tpu_v5p_ici", "tpu_v5p_dcn"):
        link = known.link(name)
        yield _row(
            "R12",
            f"a step over {link.title}",
            transfer_ms(each * EXPERT_BATCH, link.gb_s),
            10.0,
            "ms",
            f"{EXPERT_BATCH} tokens a chip x {each / 1e6:.3g} MB / {link.gb_s:g} GB/s",
        )
    cores = weight_bytes(model.parameters_b * GB, 8) / (8 * GB)
    yield _row("R12", "cores of 8 GB for the weights at 8 bits", cores, None, "cores", "1,000 GB / 8 GB")
    yield _row(
        "R12",
        "tokens a second that 15 GB/s carry",
        15 * GB / each,
        None,
        "tokens/s",
        f"15 GB/s / {each / 1e6:.3g} MB",
    )
