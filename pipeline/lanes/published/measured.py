"""A row of the sample as a measurement: what its texts say, spelled out."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.lanes.published.sample import SampleRow
from pipeline.schemas.words import PairedEngine, VersionBasis

ENGINES: dict[str, PairedEngine] = {"vllm": "vllm", "trtllm": "tensorrt_llm"}
_INFERRED = Path(__file__).parent / "inferred_versions.toml"
_DAY = re.compile(r"measured=(\d{4}-\d\d-\d\d)")
_CONCURRENCY = re.compile(r"silicon_concurrency=(\d+)")
# The label says 3.1; the launch scripts of that day serve NVIDIA's quantised 3.3.
_CHECKPOINTS = {
    ("meta-llama/Llama-3.1-70B", "fp8"): "nvidia/Llama-3.3-70B-Instruct-FP8 (inferred)",
    ("meta-llama/Llama-3.1-70B", "fp4"): "nvidia/Llama-3.3-70B-Instruct-FP4 (inferred)",
}


@dataclass(frozen=True)
class Measured:
    """One measured configuration of one engine.

    Attributes:
        row: the row of the sample.
        engine: engine.
        concurrency: requests in flight, null where the source does not record them.
        measured_on: day, null where not recorded.
        version: engine version, null where not recorded.
        version_basis: stated in the source, inferred from launch scripts of the day, or unknown.
    """

    row: SampleRow
    engine: PairedEngine
    concurrency: int | None
    measured_on: date | None
    version: str | None
    version_basis: VersionBasis

    @property
    def model(self) -> str:
        """Model without its owner, as the source labels it."""
        return self.row.model_path.rpartition("/")[2]

    @property
    def gpu(self) -> str:
        """`H200` for `h200_sxm`."""
        return self.row.system.partition("_")[0].upper()

    @property
    def checkpoint(self) -> str:
        """What was served: the label, or what the launch scripts name."""
        return _CHECKPOINTS.get((self.row.model_path, self.row.precision or ""), self.row.model_path)

    @property
    def relabelled(self) -> bool:
        """Whether the label names another checkpoint than was served."""
        return self.checkpoint != self.row.model_path

    @property
    def attention_dp(self) -> int:
        """Data-parallel attention ranks, at least one."""
        return self.row.attention_dp_size or 1

    @property
    def moe_tp(self) -> int:
        """Tensor-parallel width of the experts, at least one."""
        return self.row.moe_tp_size or 1

    @property
    def moe_ep(self) -> int:
        """Expert-parallel width, at least one."""
        return self.row.moe_ep_size or 1

    @property
    def tp(self) -> int:
        """GPUs of the tensor-parallel group."""
        return self.row.tp_size or 1

    @property
    def gpus(self) -> int:
        """GPUs of the server: tensor times pipeline times data parallel."""
        return self.tp * (self.row.pp_size or 1) * self.attention_dp

    @property
    def tok_s_per_gpu(self) -> float | None:
        """Output tokens a second and GPU, null where the concurrency is not recorded."""
        if self.concurrency is None:
            return None
        row = self.row
        return tok_s_per_gpu(self.concurrency, row.osl, row.silicon_ttft_ms, row.silicon_tpot_ms, self.gpus)

    @property
    def saturated(self) -> bool:
        """Requests mostly wait: TTFT above 5 s, or above the time of all output tokens."""
        row = self.row
        return row.silicon_ttft_ms > 5_000 or row.silicon_ttft_ms > row.osl * row.silicon_tpot_ms

    @property
    def setting(self) -> tuple[Any, ...]:
        """What two rows must share to be compared, concurrency included."""
        row = self.row
        parallel = (self.tp, self.attention_dp, self.moe_tp, self.moe_ep)
        return (row.model_path, row.system, row.precision, row.isl, row.osl, *parallel, self.concurrency)


def tok_s_per_gpu(concurrency: int, osl: int, ttft_ms: float, tpot_ms: float, gpus: int) -> float:
    """Output tokens a second and GPU of a closed loop, by Little's law.

    Each of `concurrency` clients gets `osl` tokens in ttft + (osl - 1) x tpot. Real output lengths of the
    sample average a little below the nominal ones, which moves the level by 1 to 3 % and hardly the ratios.
    """
    request_s = (ttft_ms + tpot_ms * (osl - 1)) / 1000
    return concurrency * osl / request_s / gpus


def measured(row: SampleRow) -> Measured:
    """The measurement of a row of vLLM or TensorRT-LLM."""
    day = _DAY.search(row.silicon_data_source)
    on = date.fromisoformat(day[1]) if day else None
    concurrency = _CONCURRENCY.search(row.silicon_data_source)
    version, basis = _version(row, on)
    return Measured(
        row=row,
        engine=ENGINES[row.backend],
        concurrency=int(concurrency[1]) if concurrency else None,
        measured_on=on,
        version=version,
        version_basis=basis,
    )


def _version(row: SampleRow, on: date | None) -> tuple[str | None, VersionBasis]:
    if row.backend_version:
        return row.backend_version, "stated"
    for one in _inferred():
        known = {"backend": row.backend, "model": row.model_path, "system": row.system, "measured_on": on}
        if all(known[name] == value for name, value in one.items() if name != "version"):
            return str(one["version"]), "inferred"
    return None, "unknown"


@lru_cache
def _inferred() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(_INFERRED.read_text(encoding="utf-8"))["inferred"]
    return found
