"""What a KV layout wastes on the lengths of public traces."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.catalogue import Catalogue
from pipeline.derived.fragmentation import contiguous_waste, paged_waste
from pipeline.schemas.catalogue import Lengths
from pipeline.schemas.derived import FragmentationRow

RESERVED = "reserved for the longest request"
ROUNDED = "rounded up to a power of two"
PAGED_32 = "blocks of 32 tokens"
PAGED_16 = "blocks of 16 tokens"


def fragmentation(known: Catalogue) -> Iterator[FragmentationRow]:
    """Four layouts on each trace."""
    for lengths in known.lengths:
        mean = lengths.total_mean
        layouts = (
            (RESERVED, float(lengths.total_max), contiguous_waste(mean, lengths.total_max)),
            (ROUNDED, lengths.pow2_mean, contiguous_waste(mean, lengths.pow2_mean)),
            (PAGED_32, mean + lengths.tail_tokens_32, paged_waste(mean, lengths.tail_tokens_32)),
            (PAGED_16, mean + lengths.tail_tokens_16, paged_waste(mean, lengths.tail_tokens_16)),
        )
        for order, (layout, reserved, waste) in enumerate(layouts):
            yield _row(lengths, layout, order, reserved, waste)


def _row(lengths: Lengths, layout: str, order: int, reserved: float, waste: float) -> FragmentationRow:
    return FragmentationRow(
        trace=lengths.trace,
        layout=layout,
        order=order,
        mean_tokens=lengths.total_mean,
        reserved_tokens=reserved,
        waste=waste,
        requests_in_same_memory=lengths.total_max / reserved,
        source=lengths.source,
        dated=lengths.dated,
    )
