"""Error bands for modelled points: from measured rows of the closest group that has enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.schemas.modelled import ModelError

# The label map that the grid uses.
USED = "corrected"
_ENGINES = {"vllm": "vLLM", "tensorrt_llm": "TensorRT-LLM"}


@dataclass(frozen=True)
class Band:
    """A band: 90th percentile of the absolute error as a share, and the rows that it comes from."""

    ttft: float | None
    tpot: float | None
    basis: str


def bands(table: Iterable[ModelError]) -> Mapping[tuple[str, str], Band]:
    """Bands by engine and GPU; GPU `all` is for those without a band of their own."""
    rows: dict[tuple[str, str, str], ModelError] = {
        (row.engine, row.gpu, row.metric): row
        for row in table
        if row.label_map == USED and row.level in ("engine", "gpu") and row.p90_ape is not None
    }
    return {(engine, gpu): _band(rows, engine, gpu) for engine, gpu, metric in rows if metric == "tpot"}


def band_of(known: Mapping[tuple[str, str], Band], engine: str, gpu: str) -> Band:
    """The band of an engine on a GPU, else of the engine on any."""
    own = known.get((engine, gpu))
    if own:
        return own
    wide = known.get((engine, "all"))
    if wide is None:
        return Band(None, None, "no measured rows")
    return Band(wide.ttft, wide.tpot, f"{wide.basis}; none on {gpu}")


def _band(rows: Mapping[tuple[str, str, str], ModelError], engine: str, gpu: str) -> Band:
    tpot, ttft = rows[engine, gpu, "tpot"], rows.get((engine, gpu, "ttft"))
    where = "all GPUs" if gpu == "all" else gpu
    return Band(
        ttft=ttft.p90_ape if ttft else None,
        tpot=tpot.p90_ape,
        basis=f"{_ENGINES[engine]} on {where}, {tpot.n} measured rows",
    )
