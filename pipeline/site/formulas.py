"""The formulas of glossary and whiteboards: each is code, tested, and printed from here."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.schemas.question import Style
from pipeline.site.expression import evaluate, names, shown


@dataclass(frozen=True)
class Formula:
    """A named formula.

    Args:
        title: what it gives, as it stands left of the equals sign.
        expression: arithmetic over the inputs.
        unit: unit of the result.
        inputs: each input's name and meaning, unit included.
        meaning: one sentence for the glossary.
        example: inputs of the worked example.
        style: how the result is written.
    """

    title: str
    expression: str
    unit: str
    inputs: dict[str, str]
    meaning: str
    example: dict[str, float]
    style: Style = "number"

    def value(self, **inputs: float) -> float:
        """The formula's value in `unit`."""
        return evaluate(self.expression, inputs)

    @property
    def text(self) -> str:
        """The formula in words, as the glossary prints it."""
        return shown(self.expression, {name: name.replace("_", " ") for name in names(self.expression)})


FORMULAS: dict[str, Formula] = {
    "tpot": Formula(
        title="time per output token",
        expression="(e2e_ms - ttft_ms) / (output_tokens - 1)",
        unit="ms",
        inputs={
            "e2e_ms": "end-to-end latency",
            "ttft_ms": "time to first token",
            "output_tokens": "output tokens",
        },
        meaning="Mean gap between output tokens; the first token belongs to TTFT and is left out.",
        example={"e2e_ms": 1_340, "ttft_ms": 70, "output_tokens": 128},
    ),
    "kv_bytes_per_token": Formula(
        title="KV bytes a token",
        expression="2 * layers * kv_heads * head_size * bytes_each",
        unit="B",
        inputs={
            "layers": "layers",
            "kv_heads": "KV heads",
            "head_size": "elements of a head",
            "bytes_each": "bytes of an element",
        },
        meaning="Key and value of one token in every layer. Fewer KV heads and narrower elements shrink it.",
        example={"layers": 32, "kv_heads": 8, "head_size": 128, "bytes_each": 2},
        style="integer",
    ),
    "kv_pool_tokens": Formula(
        title="KV pool",
        expression="blocks * block_size",
        unit="tokens",
        inputs={"blocks": "blocks of the pool", "block_size": "tokens in a block"},
        meaning="Tokens whose keys and values fit at once. The pool is taken when the engine starts.",
        example={"blocks": 256, "block_size": 32},
        style="integer",
    ),
    "prefix_working_set": Formula(
        title="prefix working set",
        expression="prefixes * prefix_tokens",
        unit="tokens",
        inputs={"prefixes": "distinct prefixes in use", "prefix_tokens": "tokens of a prefix"},
        meaning="What a replica must hold to answer every shared prefix from its cache.",
        example={"prefixes": 12, "prefix_tokens": 1_024},
        style="integer",
    ),
    "hit_rate": Formula(
        title="prefix-cache hit rate",
        expression="cached_tokens / prompt_tokens",
        unit="",
        inputs={
            "cached_tokens": "prompt tokens found in the cache",
            "prompt_tokens": "prompt tokens asked for",
        },
        meaning="Share of prompt tokens whose keys and values were already there. Counted in tokens by vLLM.",
        example={"cached_tokens": 141_312, "prompt_tokens": 156_000},
        style="percent",
    ),
    "hit_ceiling": Formula(
        title="hit-rate ceiling",
        expression="(requests - misses) / requests * prefix_tokens / prompt_tokens",
        unit="",
        inputs={
            "requests": "requests",
            "misses": "requests that must miss, one a prefix and cache",
            "prefix_tokens": "tokens of a prefix",
            "prompt_tokens": "tokens of a whole prompt",
        },
        meaning="Every prefix misses once, and new tokens never hit. It rises with the length of a run.",
        example={"requests": 150, "misses": 12, "prefix_tokens": 1_024, "prompt_tokens": 1_040},
        style="percent",
    ),
    "concurrency": Formula(
        title="requests in flight",
        expression="request_rate * e2e_s",
        unit="requests",
        inputs={"request_rate": "requests a second", "e2e_s": "end-to-end latency, seconds"},
        meaning="Little's law: holds for any stable system, whatever its parts.",
        example={"request_rate": 20, "e2e_s": 1.5},
    ),
    "imbalance": Formula(
        title="imbalance",
        expression="largest / (requests / replicas)",
        unit="",
        inputs={"largest": "requests of the busiest replica", "requests": "requests", "replicas": "replicas"},
        meaning="Busiest replica over the mean; 1 is even.",
        example={"largest": 84, "requests": 150, "replicas": 2},
        style="times",
    ),
    "transfer_time": Formula(
        title="time to move bytes",
        expression="bytes_moved / (bandwidth * 1000000)",
        unit="ms",
        inputs={"bytes_moved": "bytes", "bandwidth": "GB/s, which is a million bytes a millisecond"},
        meaning="Lower bound from bandwidth alone; latency and contention come on top.",
        example={"bytes_moved": 131_072 * 1_000, "bandwidth": 50},
    ),
}
