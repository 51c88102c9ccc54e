"""`weighbridge fit`: does a model fit, and what fits beside it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.catalogue import catalogue
from pipeline.derived.fit import DEFAULT_CONTEXT, Question, fit
from pipeline.paths import Workspace
from pipeline.schemas.derived import FitRow


class FitCommand(BaseModel):
    """Does MODEL fit GPUs under an engine's own rule, and how many requests fit beside it?"""

    model: CliPositionalArg[str] = Field(
        description="catalogue name, Hugging Face id, or path of a config.json"
    )
    gpu: str = Field(description='board, as in: weighbridge query "SELECT name FROM hardware"')
    engine: Literal["vllm", "tensorrt_llm"] = Field("vllm", description="whose rule sizes the KV pool")
    tp: int = Field(1, ge=1, description="tensor parallelism: GPUs of one replica")
    kv_dtype: Literal["auto", "fp16", "bf16", "fp8", "fp4"] = Field(
        "auto", description="KV elements; auto is 16 bits"
    )
    kv_pool_gib: float | None = Field(
        None, ge=0, description="KV pool of a GPU; the engine's rule if not given"
    )
    memory_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="share for the engine; its default (0.92 of the card, 0.9 of what is left)",
    )
    context: int = Field(DEFAULT_CONTEXT, ge=1, description="length of every request, prompt plus output")
    weight_bits: float | None = Field(
        None, gt=0, le=32, description="bits of a weight; the checkpoint's if not given"
    )
    overhead_gib: float | None = Field(
        None, ge=0, description="activations, graphs and the rest on a GPU; 3.0 assumed, 1.5 below 70 GiB"
    )
    format: Literal["text", "json"] = Field("text", description="text or json")

    def cli_cmd(self) -> None:
        """Print the answer."""
        row = self.answer(Workspace())
        print(row.model_dump_json(indent=1) if self.format == "json" else told(row))

    def answer(self, ws: Workspace) -> FitRow:
        """The answer from a checkout's catalogue.

        Raises:
            InputError: no such model or GPU, with the nearest name; or an impossible value.
        """
        known = catalogue(ws)
        return fit(
            Question(
                model=known.model(self.model),
                board=known.board(self.gpu),
                engine=self.engine,
                tp=self.tp,
                kv_dtype=self.kv_dtype,
                context=self.context,
                fraction=self.memory_fraction,
                pool_gib=self.kv_pool_gib,
                weight_bits=self.weight_bits,
                overhead_gib=self.overhead_gib,
            )
        )


def told(row: FitRow) -> str:
    """The answer as a person reads it."""
    unknown = "not known"
    tokens = unknown if row.kv_pool_tokens is None else f"{row.kv_pool_tokens:,} tokens"
    each = (
        unknown
        if row.kv_bytes_per_token_per_gpu is None
        else f"{row.kv_bytes_per_token_per_gpu:,.0f} B a token"
    )
    requests = unknown if row.max_concurrent_requests is None else f"{row.max_concurrent_requests:,}"
    lines = [
        f"{row.model} on {row.tp} x {row.gpu}, {row.engine}: {'fits' if row.fits else 'does not fit'}",
        f"  weights     {row.weights_gib_per_gpu:9.2f} GiB a GPU at {row.weight_bits:g} bits",
        f"  overhead    {row.overhead_gib_per_gpu:9.2f} GiB a GPU",
        f"  KV pool     {row.kv_pool_gib_per_gpu:9.2f} GiB a GPU, {tokens}, {each} ({row.kv_dtype})",
        f"  reserved    {row.reserved_gib_per_gpu:9.2f} GiB of {row.gpu_memory_gib:g}",
        f"  requests    {requests} of {row.context_tokens:,} tokens at once",
    ]
    return "\n".join([*lines, *(f"  note: {note}" for note in row.notes.split("; ") if note)])
