"""TensorRT-LLM as one replica: command line, configuration file, counters.

A knob stands in one place only: the file overrode the command line up to 1.2 and the command line overrides
the file since. So the line names address, backend and file, and the file holds everything else; the static
engine backend of 1.2 takes its build limits from the line alone, so there they stand on the line.
Sources: `tensorrt_llm/commands/serve.py` and `tensorrt_llm/llmapi/llm_args.py` of the 1.2 line.
"""

from __future__ import annotations

from typing import Any, ClassVar

import yaml

from pipeline.engines.models import kv_bytes_per_token
from pipeline.engines.openai import Handle, OpenAiServer
from pipeline.engines.server import ServerSpec
from pipeline.errors import EngineFailure
from pipeline.schemas.cell import EngineKnobs
from pipeline.schemas.launch import Launch
from pipeline.telemetry.iterations import IterationReader
from pipeline.telemetry.prometheus import Sample, scrape

PROGRAM = "trtllm-serve"
DEFAULT_SHARE = 0.9
BLOCK_TOKENS = 32
_POLICY = {"no-evict": "GUARANTEED_NO_EVICT", "max-utilisation": "MAX_UTILIZATION"}
_LIMITS = {
    "max_num_seqs": "max_batch_size",
    "max_num_batched_tokens": "max_num_tokens",
    "max_model_len_tokens": "max_seq_len",
}


def arguments(knobs: EngineKnobs, model: str, host: str, port: int, config: str | None) -> list[str]:
    """Arguments of `trtllm-serve`: model, address, backend, file, and the static backend's limits."""
    line = [model, "--host", host, "--port", str(port), "--backend", knobs.backend or "pytorch"]
    if _static(knobs):
        for knob, option in _LIMITS.items():
            value = getattr(knobs, knob)
            line += [] if value is None else [f"--{option}", str(value)]
        line += ["--tp_size", str(knobs.tensor_parallel)] if knobs.tensor_parallel > 1 else []
    return line + (["--extra_llm_api_options", config] if config else [])


def configuration(knobs: EngineKnobs) -> str:
    """The configuration file as YAML text."""
    content: dict[str, Any] = {"kv_cache_config": _kv(knobs)}
    if knobs.chunked_prefill is not None:
        content["enable_chunked_prefill"] = knobs.chunked_prefill
    if knobs.admission is not None:
        content["scheduler_config"] = {"capacity_scheduler_policy": _POLICY[knobs.admission]}
    if not _static(knobs):
        content |= _pytorch_only(knobs)
    return str(yaml.safe_dump(content, sort_keys=True))


def _static(knobs: EngineKnobs) -> bool:
    return knobs.backend == "tensorrt"


def _pytorch_only(knobs: EngineKnobs) -> dict[str, Any]:
    """Keys that the static backend refuses; it always counts its iterations."""
    content: dict[str, Any] = {"enable_iter_perf_stats": True}
    for knob, key in _LIMITS.items():
        value = getattr(knobs, knob)
        if value is not None:
            content[key] = value
    if knobs.tensor_parallel > 1:
        content["tensor_parallel_size"] = knobs.tensor_parallel
    if knobs.weights == "dummy":
        content["load_format"] = "dummy"
    if knobs.cuda_graphs is not None:
        content["cuda_graph_config"] = {"enable_padding": True} if knobs.cuda_graphs else None
    return content


def _kv(knobs: EngineKnobs) -> dict[str, Any]:
    """The whole block is written, because in 1.2 it replaces the defaults of the command line."""
    block: dict[str, Any] = {
        "enable_block_reuse": knobs.prefix_caching,
        "free_gpu_memory_fraction": knobs.gpu_memory_share or DEFAULT_SHARE,
    }
    if knobs.kv_pool_bytes is not None:
        block["max_tokens"] = pool_tokens(knobs)
    if knobs.kv_dtype != "auto":
        block["dtype"] = knobs.kv_dtype
    if knobs.block_size_tokens not in (0, BLOCK_TOKENS):
        block["tokens_per_block"] = knobs.block_size_tokens
    if knobs.kv_offload_gib is not None:
        block["host_cache_size"] = int(knobs.kv_offload_gib * 2**30)
    return block


def pool_tokens(knobs: EngineKnobs) -> int:
    """Tokens that a pool of `kv_pool_bytes` holds, in whole blocks: 1.2 takes tokens, not bytes."""
    size = knobs.block_size_tokens or BLOCK_TOKENS
    each = kv_bytes_per_token(knobs.model, knobs.kv_dtype) // knobs.tensor_parallel
    return (knobs.kv_pool_bytes or 0) // each // size * size


class TrtLlmServer(OpenAiServer):
    """One running replica of TensorRT-LLM, with the one reader of its iterations."""

    title: ClassVar[str] = "TensorRT-LLM"

    def __init__(self, spec: ServerSpec, handle: Handle, launch: Launch, url: str | None = None) -> None:
        super().__init__(spec, handle, launch, url)
        self._iterations = IterationReader(f"{self.url}/metrics")

    def probe(self) -> None:
        """One real completion; then its iterations are read until it stops."""
        super().probe()
        self._iterations.start()

    def counters(self) -> Sample:
        """Its Prometheus text where this version has one, and what its iterations added up to."""
        own = self._iterations.sample()
        try:
            text = scrape(f"{self.url}/prometheus/metrics")
        except EngineFailure:  # absent unless return_perf_metrics is set, which starts a second reader
            return own
        return Sample({**own.values, **text.values}, {**own.labelled, **text.labelled})

    def begin_cell(self) -> None:
        """Peaks begin anew."""
        self._iterations.forget_peaks()

    def kv_usage(self) -> float | None:
        """Share of KV blocks in use: the largest since the cell began, because the list is read late."""
        return self._iterations.usage_peak()

    def reset_prefix_cache(self) -> bool:
        """It has no way to forget over HTTP."""
        return False

    def stop(self) -> None:
        """Stop reading, then the server."""
        self._iterations.stop()
        super().stop()
