"""Times that no software beats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pipeline.catalogue import Catalogue
from pipeline.derived.floors import (
    all_to_all_bytes,
    decode_step_ms,
    fibre_round_trip_ms,
    prefill_ms,
    transfer_ms,
)
from pipeline.derived.memory import GB, kv_bytes_per_token, model_weight_bytes
from pipeline.schemas.derived import TimeFloorRow

DECODED = (
    "size-0.4b",
    "size-2.5b",
    "llama-3.1-8b",
    "size-70b",
    "size-175b",
    "size-300b",
    "size-540b",
    "size-1t-moe",
)
PROMPT_TOKENS = 1000
OFFLOAD_CARD_GB = 8.0
HOST_LINKS = ("pcie4_x16", "pcie5_x16")
EXPERT_GPUS = 64
EXPERT_LINKS = ("nvlink4", "nvlink5", "infiniband_400g", "tpu_v5p_ici")
PHONES = ("phone_a19_pro", "phone_snapdragon_8_elite", "phone_6gb")
PHONE_MODELS = ("size-0.4b", "size-2.5b", "llama-3.1-8b")


def time_floors(known: Catalogue) -> Iterator[TimeFloorRow]:
    """All kinds of floor."""
    yield from _decode(known)
    yield from _prefill(known)
    yield from _host(known)
    yield from _fibre(known)
    yield from _experts(known)
    yield from _phones(known)


def _decode(known: Catalogue) -> Iterator[TimeFloorRow]:
    """One token of one request: the active weights once over the memory of the GPUs that share them."""
    for name, board_name, bits, gpus in product(DECODED, ("h100_sxm", "b200_sxm"), (16.0, 8.0, 4.0), (1, 8)):
        model, board = known.model(name), known.board(board_name)
        moved = (model.active_b or model.parameters_b) * GB * bits / 8
        yield TimeFloorRow(
            name=f"{name} at {bits:g} bits on {gpus} x {board_name}",
            kind="decode",
            model=name,
            weight_bits=bits,
            over=board_name,
            gpus=gpus,
            moved_gb=moved / GB,
            floor_ms=decode_step_ms(moved / gpus, 0, board.bandwidth_gb_s),
            unit_of_work="a token of one request",
        )


def _prefill(known: Catalogue) -> Iterator[TimeFloorRow]:
    for name, board_name, gpus in product(DECODED, ("h100_sxm", "b200_sxm"), (1, 8)):
        model, board = known.model(name), known.board(board_name)
        if board.fp8_tflops is None:
            continue
        yield TimeFloorRow(
            name=f"{name}, prompt of {PROMPT_TOKENS:,} tokens on {gpus} x {board_name}",
            kind="prefill",
            model=name,
            weight_bits=8.0,
            over=board_name,
            gpus=gpus,
            moved_gb=None,
            floor_ms=prefill_ms(
                (model.active_b or model.parameters_b) * GB, PROMPT_TOKENS, board.fp8_tflops, gpus
            ),
            unit_of_work=f"a prompt of {PROMPT_TOKENS:,} tokens",
        )


def _host(known: Catalogue) -> Iterator[TimeFloorRow]:
    """Weights beyond a card of 8 GB streamed for every token, and the KV of one token."""
    model = known.model("size-13gb")
    beyond = model_weight_bytes(model) - OFFLOAD_CARD_GB * GB
    token = kv_bytes_per_token(known.model("llama-3.1-8b").groups, 16)
    moves = (
        ("weights beyond an 8 GB card", model.name, beyond, "a decode step"),
        ("KV of one token", "llama-3.1-8b", token, "a token of KV"),
        ("KV of 4,096 tokens", "llama-3.1-8b", token * 4096, "a context of 4,096 tokens"),
    )
    for (what, name, moved, work), link_name in product(moves, (*HOST_LINKS, "host_dma_h100")):
        yield TimeFloorRow(
            name=f"{what} over {known.link(link_name).title}",
            kind="host link",
            model=name,
            weight_bits=16.0,
            over=link_name,
            gpus=1,
            moved_gb=moved / GB,
            floor_ms=transfer_ms(moved, known.link(link_name).gb_s),
            unit_of_work=work,
        )


def _fibre(known: Catalogue) -> Iterator[TimeFloorRow]:
    for route in known.routes:
        yield TimeFloorRow(
            name=route.name,
            kind="fibre",
            model=None,
            weight_bits=None,
            over=f"{route.cable_km:,.0f} km of cable",
            gpus=None,
            moved_gb=None,
            floor_ms=fibre_round_trip_ms(route.cable_km),
            unit_of_work="a round trip",
        )


def _experts(known: Catalogue) -> Iterator[TimeFloorRow]:
    """Hidden vectors to and from experts spread over 64 chips, 8-bit vectors."""
    model = known.model("size-1t-moe")
    if not (model.layers and model.experts_per_token and model.hidden_size):
        return
    # The first layer of the shape used is dense.
    moved = all_to_all_bytes(model.layers - 1, model.experts_per_token, model.hidden_size, 1, EXPERT_GPUS)
    for link_name in EXPERT_LINKS:
        yield TimeFloorRow(
            name=f"experts over {known.link(link_name).title}, {EXPERT_GPUS} chips",
            kind="all-to-all",
            model=model.name,
            weight_bits=8.0,
            over=link_name,
            gpus=EXPERT_GPUS,
            moved_gb=moved / GB,
            floor_ms=transfer_ms(moved, known.link(link_name).gb_s),
            unit_of_work="a token",
        )


def _phones(known: Catalogue) -> Iterator[TimeFloorRow]:
    for name, phone, bits in product(PHONE_MODELS, PHONES, (16.0, 8.0, 4.0)):
        model, board = known.model(name), known.board(phone)
        moved = model.parameters_b * GB * bits / 8
        yield TimeFloorRow(
            name=f"{name} at {bits:g} bits on {board.title}",
            kind="phone",
            model=name,
            weight_bits=bits,
            over=phone,
            gpus=1,
            moved_gb=moved / GB,
            floor_ms=decode_step_ms(moved, 0, board.bandwidth_gb_s),
            unit_of_work="a token",
        )
