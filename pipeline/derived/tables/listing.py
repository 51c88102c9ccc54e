"""The catalogues as tables."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.catalogue import Catalogue
from pipeline.derived.cost import usd_per_gb_hour
from pipeline.derived.floors import transfer_ms
from pipeline.derived.memory import GB, GIB, kv_bytes_per_token, model_weight_bytes
from pipeline.schemas.derived import HardwareRow, LinkRow, ModelRow, PriceRow, ReleaseRow


def models(known: Catalogue) -> Iterator[ModelRow]:
    """Models with their sizes."""
    for model in known.models:
        yield ModelRow(
            name=model.name,
            ids=", ".join(model.ids),
            architecture=model.architecture,
            parameters_b=model.parameters_b,
            parameters_basis=model.parameters_basis,
            active_b=model.active_b,
            weight_bits=model.weight_bits,
            weights_gib=round(model_weight_bytes(model) / GIB, 3),
            attention=model.attention,
            layers=model.layers,
            heads=model.heads,
            kv_bytes_per_token=kv_bytes_per_token(model.groups, 16) if model.groups else None,
            kv_note=model.kv_note,
            source=model.source,
            dated=model.dated,
        )


def hardware(known: Catalogue) -> Iterator[HardwareRow]:
    """Boards, phones and TPU chips."""
    for board in known.boards:
        yield HardwareRow.model_validate(board.model_dump(exclude={"aliases"}))


def links(known: Catalogue) -> Iterator[LinkRow]:
    """Links with the time of a gigabyte."""
    for link in known.links:
        yield LinkRow(**link.model_dump(), ms_per_gb=transfer_ms(GB, link.gb_s))


def prices(known: Catalogue) -> Iterator[PriceRow]:
    """Prices, and what a GB of the card's memory costs in an hour."""
    memory = {board.name: board.memory_gb for board in known.boards}
    for price in known.prices:
        gb_hour = usd_per_gb_hour(price.usd, memory[price.item]) if price.item in memory else None
        yield PriceRow(**price.model_dump(), usd_per_gb_hour=gb_hour)


def releases(known: Catalogue) -> Iterator[ReleaseRow]:
    """Versions that people name."""
    for release in known.releases:
        yield ReleaseRow.model_validate(release.model_dump())
