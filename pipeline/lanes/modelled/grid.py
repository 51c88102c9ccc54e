"""The grid: models from 8 billion to a trillion parameters, GPUs, engines, parallelism, KV types, loads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.lanes.modelled.ask import Job
from pipeline.schemas.words import PairedEngine

SYSTEMS = {"A100": "a100_sxm", "L40S": "l40s", "H100": "h100_sxm", "H200": "h200_sxm", "B200": "b200_sxm"}
BACKENDS: dict[PairedEngine, str] = {"vllm": "vllm", "tensorrt_llm": "trtllm"}
PARALLEL = (1, 2, 4, 8)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LENGTHS = ((128, 128), (512, 128), (1024, 1024), (4096, 512), (8192, 1024), (32_768, 1024))


@dataclass(frozen=True)
class Variant:
    """A model with the number formats of its weights and its KV.

    Attributes:
        model: name in this project's catalogue.
        package: id that the package ships a config of.
        precision: number format of the weights, as this project says it.
        kv: KV formats to ask for.
        gemm: the package's label of dense layers; the config's own if null.
        moe: the package's label of experts; the config's own if null.
        experts: whether it is a mixture of experts.
        only: GPUs that can hold or compute it; all if empty.
    """

    model: str
    package: str
    precision: str
    kv: tuple[str, ...] = ("bfloat16", "fp8")
    gemm: str | None = None
    moe: str | None = None
    experts: bool = False
    only: tuple[str, ...] = ()


VARIANTS = (
    Variant("llama-3.1-8b", "meta-llama/Meta-Llama-3.1-8B", "bf16"),
    Variant("llama-3.1-8b", "meta-llama/Meta-Llama-3.1-8B", "fp8", gemm="fp8"),
    Variant("qwen3-32b", "Qwen/Qwen3-32B", "bf16"),
    Variant("qwen3-32b", "Qwen/Qwen3-32B", "fp8", gemm="fp8"),
    Variant("llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B", "bf16"),
    Variant("llama-3.1-70b", "nvidia/Llama-3.1-70B-Instruct-FP8", "fp8"),
    Variant("llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B", "nvfp4", gemm="nvfp4", only=("B200",)),
    Variant("llama-3.1-405b", "meta-llama/Meta-Llama-3.1-405B", "fp8", gemm="fp8"),
    Variant("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", "bf16", experts=True),
    Variant("gpt-oss-120b", "openai/gpt-oss-120b", "mxfp4", kv=("bfloat16",), experts=True),
    Variant("minimax-m2.5", "MiniMaxAI/MiniMax-M2.5", "fp8", gemm="fp8", moe="fp8", experts=True),
    Variant("qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B-FP8", "fp8_block", experts=True),
    Variant("deepseek-r1", "deepseek-ai/DeepSeek-R1", "fp8_block", kv=("fp8",), experts=True),
    Variant("kimi-k2.5", "moonshotai/Kimi-K2.5", "int4", experts=True),
    Variant("kimi-k2.5", "nvidia/Kimi-K2.5-NVFP4", "nvfp4", kv=("fp8",), experts=True, only=("B200",)),
)


@dataclass(frozen=True)
class Place:
    """One engine of the grid: what its points have in common."""

    variant: Variant
    gpu: str
    engine: PairedEngine
    kv: str
    tp: int
    ep: int

    @property
    def job(self) -> Job:
        """What the package is asked."""
        moe = self.variant.moe
        if self.variant.model == "gpt-oss-120b" and (self.engine, self.gpu) == ("tensorrt_llm", "B200"):
            moe = "w4a8_mxfp4_mxfp8"
        return Job(
            key=" ".join(
                str(part)
                for part in (
                    self.variant.model,
                    self.variant.precision,
                    self.gpu,
                    self.engine,
                    self.kv,
                    self.tp,
                    self.ep,
                )
            ),
            model=self.variant.package,
            system=SYSTEMS[self.gpu],
            backend=BACKENDS[self.engine],
            tp=self.tp,
            points=tuple((isl, osl, batch) for (isl, osl), batch in itertools.product(LENGTHS, BATCHES)),
            gemm=self.variant.gemm,
            kv=self.kv,
            moe=moe,
            ep=self.ep,
        )


def places() -> Iterator[Place]:
    """Every engine of the grid."""
    for variant, gpu, engine in itertools.product(VARIANTS, SYSTEMS, BACKENDS):
        if variant.only and gpu not in variant.only:
            continue
        for kv, tp in itertools.product(variant.kv, PARALLEL):
            widths = {1, tp} if variant.experts else {1}
            for ep in sorted(widths):
                yield Place(variant, gpu, engine, kv, tp, ep)
