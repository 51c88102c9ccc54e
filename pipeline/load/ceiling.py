"""The hit rate of a cache that forgets nothing: what no router and no pool can pass on these requests."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.load.workload import Prompt


def ceiling_tokens(prompts: Sequence[Prompt], block_size_tokens: int) -> list[int]:
    """For each request in order, prompt tokens that an infinite cache would hold.

    Whole blocks only, and never the last token: vLLM always computes it (v1/core/kv_cache_manager.py, 0.32).
    """
    seen: set[str] = set()
    found = []
    for prompt in prompts:
        most = (len(prompt.text) - 1) // block_size_tokens
        hit = 0
        while hit < most and prompt.text[: (hit + 1) * block_size_tokens] in seen:
            hit += 1
        found.append(hit * block_size_tokens)
        for block in range(1, len(prompt.text) // block_size_tokens + 1):
            seen.add(prompt.text[: block * block_size_tokens])
    return found
