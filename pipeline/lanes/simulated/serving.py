"""What a replica is: a model on GPUs, with the step times that the simulator is given.

Step times come from the modelled lane where it has the model, else from a roofline: weights and KV over
memory bandwidth, operations over peak, each at a usual share of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

# Shares of peak compute and of bandwidth that served models reach, as rooflines of serving usually assume.
MFU, MBU, OVERHEAD_MS = 0.5, 0.8, 1.0
ROOFLINE_ERROR = 0.3
"""Half width of the roofline's band: MFU between 0.4 and 0.65, MBU between 0.6 and 0.9."""

LONGEST_PREFILL = 8192
"""Tokens of a step; longer prompts are computed in chunks."""


@dataclass(frozen=True)
class Serving:
    """A model on the GPUs of one replica.

    Attributes:
        name: as rows name it.
        gpus: GPUs of one replica.
        board: board, as the hardware catalogue names it.
        weights_gib: weights, GiB.
        active_b: parameters used for one token, billions.
        kv_kib: KV of one token, KiB.
        gb_s: memory bandwidth of all GPUs, GB/s.
        tflop_s: dense peak of all GPUs at the width of the weights, TFLOP/s.
    """

    name: str
    gpus: int
    board: str
    weights_gib: float
    active_b: float
    kv_kib: float
    gb_s: float
    tflop_s: float

    def pool_tokens(self, gib: float, block: int = 16) -> int:
        """Tokens that a KV pool of this size holds, whole blocks of 16."""
        return int(gib * 1024 * 1024 / self.kv_kib) // block * block

    def gib(self, tokens: float) -> float:
        """KV of tokens, GiB."""
        return tokens * self.kv_kib / 1024 / 1024


# H100 SXM: NVIDIA H100 data sheet (3.35 TB/s, dense 989 TFLOP/s at 16 bits, 1,979 at 8).
# Layers, KV heads and parameters: public configs of Llama 3.1; 300 B dense is a size that a claim names,
# with the layer shape of Llama 3.1 405B scaled down (118 layers of 8 KV heads).
LLAMA_8B = Serving("Llama-3.1-8B, 16 bits, 1 x H100", 1, "h100_sxm", 14.96, 8.03, 128, 3350, 989)
LLAMA_70B = Serving("Llama-3.1-70B, 8 bits, 4 x H100", 4, "h100_sxm", 65.7, 70.6, 160, 13400, 7914)
DENSE_300B = Serving("300B dense, 8 bits, 8 x H100", 8, "h100_sxm", 279.4, 300.0, 236, 26800, 15829)
SERVINGS = {each.name: each for each in (LLAMA_8B, LLAMA_70B, DENSE_300B)}
# Model, GPU, number format and tensor parallelism of a serving in the view `step_tables`.
MODELLED = {
    LLAMA_8B.name: ("llama-3.1-8b", "H100", "bf16", 1),
    LLAMA_70B.name: ("llama-3.1-70b", "H100", "fp8", 4),
}


@dataclass(frozen=True)
class Steps:
    """Step times as plain numbers, so that they travel between processes and can be hashed.

    Attributes:
        basis: modelled or roofline.
        source: one line with its day.
        error: relative error that the source states; null where none is stated.
        batches, contexts, decode_ms: table of decode steps, ms.
        prefill_tokens, prefill_ms: times of prompts alone, ms.
    """

    basis: str
    source: str
    error: float | None
    batches: tuple[int, ...] = ()
    contexts: tuple[int, ...] = ()
    decode_ms: tuple[tuple[float, ...], ...] = ()
    prefill_tokens: tuple[int, ...] = ()
    prefill_ms: tuple[float, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of everything in it."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


ROOFLINE = Steps(
    "roofline",
    f"bytes over {MBU:.0%} of bandwidth, operations over {MFU:.0%} of peak; H100 data sheet, 2026-12-01",
    ROOFLINE_ERROR,
)


def modelled_steps(rows: Sequence[Mapping[str, Any]]) -> Steps:
    """Step times of one serving from rows of the modelled lane's view `step_tables`.

    A context that does not fit at a batch has no row: its time goes on straight from the two before it.
    Times that fall by a hair as the batch grows take the time of the smaller batch.
    """
    decode: dict[int, dict[int, float]] = {}
    for row in rows:
        if row["kind"] == "decode":
            decode.setdefault(row["batch"], {})[row["context_tokens"]] = row["step_ms"]
    known = {batch: times for batch, times in sorted(decode.items()) if len(times) > 1}
    contexts = sorted({context for times in known.values() for context in times})
    table: list[list[float]] = []
    for times in known.values():
        line = [_at(times, context) for context in contexts]
        table.append([max(pair) for pair in zip(line, table[-1], strict=True)] if table else line)
    alone = sorted((row["context_tokens"], row["step_ms"]) for row in rows if row["kind"] == "prefill")
    short = [each for each in alone if each[0] <= LONGEST_PREFILL]
    first = next(row for row in rows if row["kind"] == "decode")
    return Steps(
        "modelled",
        f"AIConfigurator kernel tables {first['database_version']}, vLLM on {first['gpu']}; band "
        f"from {first['band_basis']}",
        first["band"],
        tuple(known),
        tuple(contexts),
        tuple(map(tuple, table)),
        tuple(each[0] for each in short),
        tuple(each[1] for each in short),
    )


def _at(times: Mapping[int, float], context: int) -> float:
    if context in times:
        return times[context]
    (one, low), (two, high) = sorted(times.items())[-2:]
    return low + (high - low) * (context - one) / (two - one)


def steps_by_serving(rows: Sequence[Mapping[str, Any]]) -> dict[str, Steps]:
    """Step times of every serving: modelled where the view has it, else the roofline."""
    found = dict.fromkeys(SERVINGS, ROOFLINE)
    for name, wanted in MODELLED.items():
        mine = [
            row
            for row in rows
            if row["engine"] == "vllm" and (row["model"], row["gpu"], row["precision"], row["tp"]) == wanted
        ]
        if mine:
            found[name] = modelled_steps(mine)
    return found
