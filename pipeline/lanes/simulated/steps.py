"""Rows that show the step tables behind the lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.lanes.simulated.serving import SERVINGS, Serving, Steps, step_table
from pipeline.schemas.simulated import StepTableRow

BATCHES, CONTEXTS = (1, 8, 32, 128), (1024, 4096)


def step_rows(steps: Mapping[str, Steps]) -> Iterator[StepTableRow]:
    """A few points of each serving's table."""
    for name, serving in SERVINGS.items():
        table = step_table(serving, steps[name])
        for batch in BATCHES:
            for context in CONTEXTS:
                yield _row(serving, steps[name], table.decode_time_ms(batch, context), table.prefill_ms_per_token, batch, context)


def _row(serving: Serving, steps: Steps, decode: float, token: float, batch: int, context: int) -> StepTableRow:
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
