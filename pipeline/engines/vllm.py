"""vLLM (CPU build) as one replica: command line, health, probe, counters."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx

from pipeline.engines.models import kv_bytes_per_token, model_folder
from pipeline.engines.server import ServerSpec
from pipeline.environments import environment
from pipeline.errors import EngineFailure
from pipeline.process import ProcessGroup, child_environment
from pipeline.schemas.cell import EngineKnobs
from pipeline.telemetry.prometheus import Sample, scrape

SERVED_NAME = "weighbridge"
DEFAULT_POOL_GIB = 1
_EXCEPTION = re.compile(r"\b\w+(Error|Exception): \S")


def command(knobs: EngineKnobs, folder: Path, python: Path, port: int) -> list[str]:
    """The command line of one replica.

    The module is started, not the `vllm` command: that looks for metadata the CPU wheel does not have.
    float32: bfloat16 dies on virtual machines that announce AMX and do not allow it.
    """
    line = [
        str(python),
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        str(folder),
        "--served-model-name",
        SERVED_NAME,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--dtype",
        "float32",
        "--load-format",
        "dummy",
        "--enforce-eager",
        "--block-size",
        str(knobs.block_size_tokens),
        "--max-model-len",
        str(knobs.max_model_len_tokens),
        "--enable-prompt-tokens-details",
        # Request ids in the log tell which replica served which request.
        "--enable-log-requests",
        "--enable-request-id-headers",
        "--enable-prefix-caching" if knobs.prefix_caching else "--no-enable-prefix-caching",
    ]
    if knobs.kv_pool_blocks is not None:
        line += ["--num-gpu-blocks-override", str(knobs.kv_pool_blocks)]
    if knobs.max_num_seqs is not None:
        line += ["--max-num-seqs", str(knobs.max_num_seqs)]
    if knobs.answers_render:
        line.append("--enable-scale-out")
    if knobs.iteration_log:
        line.append("--enable-logging-iteration-details")
    return line


def variables(knobs: EngineKnobs, core: int | None) -> dict[str, str]:
    """The environment of one replica: no network, a pinned core, the endpoint that resets caches."""
    pool_bytes = (knobs.kv_pool_blocks or 0) * knobs.block_size_tokens * kv_bytes_per_token(knobs.model)
    values = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_CPU_KVCACHE_SPACE": str(max(DEFAULT_POOL_GIB, -(-pool_bytes // 2**30))),
    }
    if core is not None:
        values["VLLM_CPU_OMP_THREADS_BIND"] = str(core)
    return child_environment(values)


class VllmServer:
    """One running replica of vLLM."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        python = environment("vllm-cpu").python
        line = command(spec.knobs, model_folder(spec.knobs.model), python, spec.port)
        log = spec.logs / f"vllm-{spec.index}-{spec.port}.log"
        self._group = ProcessGroup(line, variables(spec.knobs, spec.core), log, spec.notes)

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self.spec.port}"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self._group.log

    @property
    def pid(self) -> int:
        """Leader of its session."""
        return self._group.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._group.alive()

    def wait_healthy(self, deadline_s: float) -> None:
        """Return when /health answers 200."""
        until = time.monotonic() + deadline_s
        while time.monotonic() < until:
            if not self.alive():
                raise self._failure("vLLM ended before it was ready")
            try:
                if httpx.get(f"{self.url}/health", timeout=2.0).status_code == httpx.codes.OK:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.5)
        raise self._failure(f"vLLM was not healthy after {deadline_s:.0f} s")

    def probe(self) -> None:
        """One real completion of four tokens: an engine can be healthy and die at its first step."""
        body = {"model": SERVED_NAME, "prompt": "probe", "max_tokens": 4, "min_tokens": 4, "ignore_eos": True}
        try:
            answer = httpx.post(f"{self.url}/v1/completions", json=body, timeout=60.0)
            answer.raise_for_status()
            tokens = answer.json()["usage"]["completion_tokens"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise self._failure(f"vLLM is healthy but its first completion failed ({error})") from None
        if tokens != 4:
            raise self._failure(f"vLLM gave {tokens} tokens where 4 were asked")

    def version(self) -> str:
        """Version as the server states it."""
        try:
            return str(httpx.get(f"{self.url}/version", timeout=10.0).json()["version"])
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise self._failure(f"vLLM does not state its version ({error})") from None

    def counters(self) -> Sample:
        """One reading of its counters."""
        return scrape(f"{self.url}/metrics")

    def reset_prefix_cache(self) -> None:
        """Forget all cached prefixes, so that a cell inherits nothing from the one before."""
        try:
            httpx.post(f"{self.url}/reset_prefix_cache", timeout=30.0).raise_for_status()
        except httpx.HTTPError as error:
            raise self._failure(f"the prefix cache could not be reset ({error})") from None

    def stop(self) -> None:
        """Stop it with all that it started."""
        self._group.stop()

    def _failure(self, what: str) -> EngineFailure:
        cause = first_error(self.log)
        return EngineFailure(
            what + (f": {cause}" if cause else ""),
            where=f"replica {self.spec.index}, log {self.log}",
            next_step="read the log; `weighbridge doctor` tells what this machine lacks",
        )


def first_error(log: Path) -> str | None:
    """The line of a log that names the cause: the first exception, else the last line of level ERROR.

    The first, because the worker's own exception comes before the server's general complaint about it.
    """
    if not log.exists():
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    serious = [line for line in lines if " WARNING " not in line and " INFO " not in line]
    found = next((line for line in serious if _EXCEPTION.search(line)), None)
    found = found or next((line for line in reversed(serious) if " ERROR " in line), None)
    return found.split("] ", 1)[-1].strip()[:300] if found else None
