"""Which checkpoint and number formats stand for a measured row: two maps, compared with each other.

native: what the sample's labels and the model's own config say. corrected: what was served as far as is
known. The second was partly chosen after the errors of the first were seen, so its errors are optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.lanes.published.measured import Measured

LabelMap = Literal["native", "corrected"]
LABEL_MAPS: tuple[LabelMap, ...] = ("native", "corrected")


@dataclass(frozen=True)
class Stands:
    """What the package is asked for.

    Attributes:
        model: id that it ships a config of.
        gemm: number format of dense layers; the config's own if null.
        moe: number format of experts; the config's own if null.
        kv: number format of KV; the config's own if null. Quantised checkpoints of these servers keep KV in
            8 bits.
    """

    model: str
    gemm: str | None = None
    moe: str | None = None
    kv: str | None = None


_LLAMA_70B = "meta-llama/Llama-3.1-70B"
_NATIVE: dict[tuple[str, str | None], Stands] = {
    (_LLAMA_70B, "fp8"): Stands("meta-llama/Meta-Llama-3.1-70B", gemm="fp8", kv="fp8"),
    (_LLAMA_70B, "fp4"): Stands("meta-llama/Meta-Llama-3.1-70B", gemm="nvfp4", kv="fp8"),
    ("meta-llama/Llama-3.1-8B-Instruct", None): Stands("meta-llama/Meta-Llama-3.1-8B"),
    ("nvidia/Llama-3.1-8B-Instruct-FP8", "fp8"): Stands("meta-llama/Meta-Llama-3.1-8B", gemm="fp8", kv="fp8"),
    ("Qwen/Qwen3-32B", "fp8"): Stands("Qwen/Qwen3-32B", gemm="fp8", kv="fp8"),
    ("Qwen/Qwen3-32B", "fp4"): Stands("Qwen/Qwen3-32B", gemm="nvfp4", kv="fp8"),
    ("Qwen/Qwen3-32B", None): Stands("Qwen/Qwen3-32B"),
    ("nvidia/Qwen3-32B-NVFP4", "fp4"): Stands("Qwen/Qwen3-32B", gemm="nvfp4", kv="fp8"),
    ("Qwen/Qwen3-235B-A22B-FP8", "fp8"): Stands("Qwen/Qwen3-235B-A22B-FP8"),
    ("deepseek-ai/DeepSeek-R1", "fp8"): Stands("deepseek-ai/DeepSeek-R1"),
    ("deepseek-ai/DeepSeek-V3", "fp8"): Stands("deepseek-ai/DeepSeek-V3"),
    ("deepseek-ai/DeepSeek-R1", "fp4"): Stands("nvidia/DeepSeek-V3.1-NVFP4"),
    ("deepseek-ai/DeepSeek-V3", "fp4"): Stands("nvidia/DeepSeek-V3.1-NVFP4"),
    ("nvidia/DeepSeek-R1-NVFP4", "fp4"): Stands("nvidia/DeepSeek-V3.1-NVFP4"),
    ("nvidia/DeepSeek-V3.1-NVFP4", "fp4"): Stands("nvidia/DeepSeek-V3.1-NVFP4"),
    ("openai/gpt-oss-120b", "fp4"): Stands("openai/gpt-oss-120b"),
    ("openai/gpt-oss-120b", "fp8"): Stands("openai/gpt-oss-120b"),
    ("MiniMaxAI/MiniMax-M2.5", "fp8"): Stands("MiniMaxAI/MiniMax-M2.5"),
    ("MiniMaxAI/MiniMax-M2.5", "fp4"): Stands("nvidia/MiniMax-M2.5-NVFP4"),
    ("moonshotai/Kimi-K2.5", "int4"): Stands("moonshotai/Kimi-K2.5"),
    ("moonshotai/Kimi-K2.5", "fp4"): Stands("nvidia/Kimi-K2.5-NVFP4"),
}
_CORRECTED: dict[tuple[str, str | None], Stands] = {
    # NVIDIA's checkpoint carries static scales, which the package knows as a format of its own.
    (_LLAMA_70B, "fp8"): Stands("nvidia/Llama-3.1-70B-Instruct-FP8"),
    # The native label picks rows that are bound by launches; measured times agree with the plain fp8 rows.
    ("MiniMaxAI/MiniMax-M2.5", "fp8"): Stands("MiniMaxAI/MiniMax-M2.5", gemm="fp8", moe="fp8"),
}
# On Blackwell TensorRT-LLM computes the experts of gpt-oss with 8-bit activations.
_GPT_OSS_B200_TRT = Stands("openai/gpt-oss-120b", moe="w4a8_mxfp4_mxfp8")


def stands_for(one: Measured, label_map: LabelMap) -> Stands | None:
    """What the package is asked for in place of a measured row; null for a model that it does not know."""
    key = (one.row.model_path, one.row.precision)
    if label_map == "corrected":
        if one.row.model_path == "openai/gpt-oss-120b" and (one.engine, one.gpu) == ("tensorrt_llm", "B200"):
            return _GPT_OSS_B200_TRT
        if key in _CORRECTED:
            return _CORRECTED[key]
    return _NATIVE.get(key)
