"""Runs inside AIConfigurator's environment and answers jobs; nothing else of this project knows the package.

Usage: python adapter.py JOBS.json ANSWERS.jsonl

A job names one engine (model, GPU, backend, parallelism, number formats) and its points (input tokens, output
tokens, batch). Engines are built once and reused, which makes a point a fraction of a millisecond. Each job
gives one line: labels, or an error with its kind, and for each point the numbers of `FIELDS`, or null where
the package gives none.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import warnings
from pathlib import Path
from typing import Any

from aiconfigurator_core.sdk.backends.factory import get_backend
from aiconfigurator_core.sdk.config import RuntimeConfig
from aiconfigurator_core.sdk.config_builders import build_model_config
from aiconfigurator_core.sdk.models import check_is_moe, get_model, resolve_context_fmha_by_data
from aiconfigurator_core.sdk.perf_database import get_database_view

FIELDS = ("ttft_ms", "tpot_ms", "step_ms", "silicon_share", "fits", "kv_fits")
KINDS = {
    "PerfDataNotAvailableError": "no kernel rows",
    "MissingSystemFlopsError": "the GPU does not compute this format",
    "HuggingFaceDownloadError": "the package ships no config of this model",
    "UnknownDatabaseError": "the package measured no kernels of this engine, version and GPU",
    "ValueError": "not a valid configuration",
}
LABELS = ("gemm_quant_mode", "moe_quant_mode", "kvcache_quant_mode", "fmha_quant_mode")


class UnknownDatabaseError(Exception):
    """The package answers such a request with nothing at all."""


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Labels and points of a job, or the reason why there are none."""
    try:
        engine = build(job)
        labels = {name: quant(getattr(engine[3], name)) for name in LABELS}
        points, reasons = [], []
        for each in job["points"]:
            values, reason = tried(engine, each)
            points.append(values)
            reasons.append(reason)
    except Exception as error:  # noqa: BLE001 - every failure is a row with its reason
        return {"key": job["key"], "error": explained(error)}
    return {"key": job["key"], "error": None, "labels": labels, "points": points, "reasons": reasons}


def build(job: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The package's model, its database, its backend and its configuration."""
    database = get_database_view(job["system"], job["backend"], job["version"], database_mode="SILICON")
    if database is None:
        raise UnknownDatabaseError(f"{job['backend']} {job['version']} on {job['system']}")
    tp, dp, ep = job["tp"], job["dp"], job["ep"]
    # The package wants tensor and expert width of a mixture of experts to span all of its GPUs.
    experts = (tp * dp // ep, ep) if check_is_moe(job["model"]) else (None, None)
    config = build_model_config(tp, 1, dp, *experts, job["gemm"], job["kv"], None, job["moe"], None)
    resolve_context_fmha_by_data(config, job["model"], database, job["backend"], is_context_role=True)
    return get_model(job["model"], config, job["backend"]), database, get_backend(job["backend"]), config


def tried(engine: tuple[Any, ...], each: list[int]) -> tuple[list[Any] | None, str | None]:
    """One point, or the reason why the package gives none."""
    try:
        values = point(engine, each)
    except Exception as error:  # noqa: BLE001 - every failure is a row with its reason
        return None, explained(error)
    return (values, None) if finite(values) else (None, "the package gives no finite time")


def point(engine: tuple[Any, ...], each: list[int]) -> list[Any]:
    """Numbers of `FIELDS` for (input tokens, output tokens, batch)."""
    model, database, backend, _ = engine
    isl, osl, batch = each
    runtime = RuntimeConfig(isl=isl, osl=osl, batch_size=batch)
    summary = backend.run_agg(model, database, runtime, ctx_tokens=isl)
    result = summary.get_result_dict()
    operations = summary.get_per_ops_data()
    return [
        float(result["ttft"]),
        float(result["tpot"]),
        step_ms(operations),
        silicon_share(operations, summary.get_per_ops_source()),
        not summary.check_oom(),
        not (summary.check_oom() or summary.check_kv_cache_oom()),
    ]


def step_ms(operations: dict[str, Any]) -> float | None:
    """Time of a step that only decodes; null where every step of the point also takes in prompts."""
    if "genonly_step" not in operations:
        return None
    return float(operations["scheduling"]["genonly_step_latency_ms"])


def silicon_share(operations: dict[str, Any], sources: dict[str, Any]) -> float:
    """Share of the time of all steps that rests on kernels measured on the GPU itself."""
    scheduling = operations["scheduling"]
    steps = {"mix_step": scheduling["num_mix_steps"], "genonly_step": scheduling["num_genonly_steps"]}
    total = silicon = 0.0
    for step, count in steps.items():
        for name, spent_ms in operations.get(step, {}).items():
            total += count * float(spent_ms)
            silicon += count * float(spent_ms) * (sources[step].get(name) == "silicon")
    return silicon / total if total else 0.0


def finite(values: list[Any]) -> bool:
    """Whether times are there and positive."""
    return all(math.isfinite(value) and value > 0 for value in values[:2])


def quant(mode: Any) -> str | None:
    """Name of a number format."""
    return None if mode is None else str(mode.name)


def explained(error: Exception) -> str:
    """The kind of a failure and its first sentence, without numbers that differ from point to point."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
    first = (
        first.partition(": tried")[0]
        .removeprefix("perf database error: ")
        .partition(", which this system")[0]
    )
    kind = type(error).__name__
    return f"{KINDS.get(kind, kind)}: {first[:160]}"


def main(jobs: Path, answers: Path) -> None:
    """Answer every job, one line each, written at once so that progress can be seen."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    with answers.open("w", encoding="utf-8") as out:
        for job in json.loads(jobs.read_text(encoding="utf-8")):
            out.write(json.dumps(answer(job)) + "\n")
            out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
