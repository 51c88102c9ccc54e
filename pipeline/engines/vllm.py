"""vLLM as one replica, on processors or on GPUs: command line, variables, counters."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import httpx

from pipeline.engines.models import kv_bytes_per_token, model_folder
from pipeline.engines.openai import Handle, OpenAiServer
from pipeline.engines.processes import GroupHandle
from pipeline.engines.server import ServerSpec
from pipeline.environments import environment
from pipeline.process import ProcessGroup, child_environment
from pipeline.schemas.cell import EngineKnobs
from pipeline.telemetry.prometheus import Sample, client, scrape, scrape_one

SERVED_NAME = "weighbridge"
DEFAULT_POOL_GIB = 1
# The module is started, not the `vllm` command: that looks for metadata the CPU wheel does not have.
MODULE = "vllm.entrypoints.openai.api_server"
KV_USAGE = "vllm:kv_cache_usage_perc"
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_SERVER_DEV_MODE": "1",
}
"""No network, and the endpoint that resets caches."""


def command(knobs: EngineKnobs, folder: Path, python: Path, port: int) -> list[str]:
    """The command line of one replica on processors.

    float32: bfloat16 dies on virtual machines that announce AMX and do not allow it.
    """
    line = [str(python), "-m", MODULE, *_place(str(folder), "127.0.0.1", port)]
    line += ["--dtype", "float32", "--load-format", "dummy", "--enforce-eager"]
    return line + _shared(knobs) + _who_served()


def gpu_arguments(knobs: EngineKnobs, model: str, host: str, port: int) -> list[str]:
    """Arguments of `python -m MODULE` for one replica on GPUs; a knob that is not set is not named."""
    line = [*_place(model, host, port), "--dtype", "bfloat16"]
    line += ["--load-format", "dummy"] if knobs.weights == "dummy" else []
    given: dict[str, object | None] = {
        "--tensor-parallel-size": knobs.tensor_parallel if knobs.tensor_parallel > 1 else None,
        "--gpu-memory-utilization": knobs.gpu_memory_share,
        "--kv-cache-memory-bytes": knobs.kv_pool_bytes,
        "--kv-cache-dtype": None if knobs.kv_dtype == "auto" else knobs.kv_dtype,
        "--max-num-batched-tokens": knobs.max_num_batched_tokens,
        "--kv-offloading-size": knobs.kv_offload_gib,
        "--cpu-offload-gb": knobs.weight_offload_gib,
    }
    for option, value in given.items():
        line += [] if value is None else [option, f"{value}"]
    if knobs.kv_offload_gib is not None:
        line += ["--kv-offloading-backend", "native"]
    if knobs.chunked_prefill is not None:
        line.append("--enable-chunked-prefill" if knobs.chunked_prefill else "--no-enable-chunked-prefill")
    line += ["--enforce-eager"] if knobs.cuda_graphs is False else []
    return line + _shared(knobs) + (_who_served() if knobs.replicas > 1 else [])


def _place(model: str, host: str, port: int) -> list[str]:
    name = ["--model", model, "--served-model-name", SERVED_NAME]
    return [*name, "--host", host, "--port", str(port)]


def _shared(knobs: EngineKnobs) -> list[str]:
    """What both lanes say in the same words."""
    line = ["--block-size", str(knobs.block_size_tokens)] if knobs.block_size_tokens else []
    line += ["--max-model-len", str(knobs.max_model_len_tokens), "--enable-prompt-tokens-details"]
    line.append("--enable-prefix-caching" if knobs.prefix_caching else "--no-enable-prefix-caching")
    if knobs.kv_pool_blocks is not None:
        line += ["--num-gpu-blocks-override", str(knobs.kv_pool_blocks)]
    if knobs.max_num_seqs is not None:
        line += ["--max-num-seqs", str(knobs.max_num_seqs)]
    if knobs.answers_render:
        line.append("--enable-scale-out")
    if knobs.iteration_log:
        line.append("--enable-logging-iteration-details")
    return line


def _who_served() -> list[str]:
    """Request ids in the log tell which replica served which request."""
    return ["--enable-log-requests", "--enable-request-id-headers"]


def variables(knobs: EngineKnobs, core: int | None) -> dict[str, str]:
    """The environment of one replica on processors: a pinned core besides what all have."""
    pool_bytes = (knobs.kv_pool_blocks or 0) * knobs.block_size_tokens * kv_bytes_per_token(knobs.model)
    values = QUIET | {"VLLM_CPU_KVCACHE_SPACE": str(max(DEFAULT_POOL_GIB, -(-pool_bytes // 2**30)))}
    if core is not None:
        values["VLLM_CPU_OMP_THREADS_BIND"] = str(core)
    return child_environment(values)


class VllmServer(OpenAiServer):
    """One running replica of vLLM."""

    title: ClassVar[str] = "vLLM"

    @classmethod
    def on_cpu(cls, spec: ServerSpec) -> VllmServer:
        """Start a replica on processors."""
        python = environment("vllm-cpu").python
        line = command(spec.knobs, model_folder(spec.knobs.model), python, spec.port)
        log = spec.logs / f"vllm-{spec.index}-{spec.port}.log"
        handle: Handle = GroupHandle(ProcessGroup(line, variables(spec.knobs, spec.core), log, spec.notes))
        return cls(spec, handle)

    def model_name(self) -> str:
        """The name it was started with; a server that ran already states its own."""
        return SERVED_NAME if self.launch is None or self.launch.launcher != "url" else super().model_name()

    def counters(self) -> Sample:
        """One reading of its counters."""
        return scrape(f"{self.url}/metrics")

    def begin_cell(self) -> None:
        """Nothing to do: its counters are compared before and after."""

    def kv_usage(self) -> float | None:
        """Share of KV blocks in use now, 0 to 1."""
        return scrape_one(f"{self.url}/metrics", KV_USAGE)

    def reset_prefix_cache(self) -> bool:
        """Forget all cached prefixes, so that a cell inherits nothing from the one before."""
        try:
            answer = client().post(f"{self.url}/reset_prefix_cache", timeout=30.0)
            if answer.status_code == httpx.codes.NOT_FOUND and self.launch and self.launch.launcher == "url":
                return False  # its owner started it without that endpoint
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise self._failure(f"the prefix cache could not be reset ({error})") from None
        return True
