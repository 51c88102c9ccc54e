"""Memory that a KV layout wastes, for the lengths of a trace."""

from __future__ import annotations

from pipeline.derived.register import formula

SOURCE = "arXiv:2309.06180 (reserved for the longest, rounded up, or in blocks)"


@formula("1 - mean length / reserved length", "share", SOURCE)
def contiguous_waste(mean_tokens: float, reserved_tokens: float) -> float:
    """Share of a contiguous reservation that no token ever uses.

    Args:
        mean_tokens: mean of prompt plus output.
        reserved_tokens: what is reserved for each request: the longest, or its length rounded up.
    """
    return 1 - mean_tokens / reserved_tokens


@formula("tail / (mean length + tail)", "share", SOURCE)
def paged_waste(mean_tokens: float, tail_tokens: float) -> float:
    """Share of the blocks held that lies in the unused end of the last block.

    Args:
        mean_tokens: mean of prompt plus output.
        tail_tokens: mean of unused tokens in a request's last block.
    """
    return tail_tokens / (mean_tokens + tail_tokens)
