"""The simulator's step tables, and rows that show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from pipeline.fleet import StepTable
from pipeline.lanes.simulated.serving import MBU, MFU, OVERHEAD_MS, ROOFLINE, SERVINGS, Serving, Steps
from pipeline.schemas.simulated import StepTableRow

BATCHES, CONTEXTS = (1, 8, 32, 128), (1024, 4096)


@cache
def step_table(serving: Serving, steps: Steps = ROOFLINE) -> StepTable:
    """The simulator's step table of a serving."""
    if steps.basis == "roofline":
        return StepTable.from_roofline(
            weights_gib=serving.weights_gib,
            kv_kib_per_token=serving.kv_kib,
            active_params_b=serving.active_b,
            hbm_gb_s=serving.gb_s,
            tflop_s=serving.tflop_s,
            mfu=MFU,
            mbu=MBU,
            overhead_ms=OVERHEAD_MS,
        )
    return StepTable.from_grid(
        list(steps.batches),
        list(steps.contexts),
        [list(row) for row in steps.decode_ms],
        list(steps.prefill_tokens),
        list(steps.prefill_ms),
        error=steps.error,
        source=steps.source,
    )


def step_rows(steps: Mapping[str, Steps]) -> Iterator[StepTableRow]:
    """A few points of each serving's table."""
    for name, serving in SERVINGS.items():
        table = step_table(serving, steps[name])
        for batch in BATCHES:
            for context in CONTEXTS:
                yield _row(
                    serving,
                    steps[name],
                    table.decode_at(batch, context),
                    table.prefill_ms_per_token,
                    batch,
                    context,
                )


def _row(
    serving: Serving, steps: Steps, decode: float, token: float, batch: int, context: int
) -> StepTableRow:
    return StepTableRow(
        serving=serving.name,
        gpus_per_replica=serving.gpus,
        weights_gib=serving.weights_gib,
        kv_kib_per_token=serving.kv_kib,
        basis=steps.basis,
        error=steps.error,
        source=steps.source,
        batch=batch,
        context_tokens=context,
        decode_ms=float(decode),
        prefill_ms_per_1000_tokens=1000 * float(token),
    )
