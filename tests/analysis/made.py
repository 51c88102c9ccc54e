"""Small made-up checkouts whose verdicts can be computed by hand."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pipeline.analysis.verdicts import decide
from pipeline.paths import REPOSITORY, Workspace
from pipeline.schemas.claim import Verdict
from pipeline.schemas.observation import Observation
from pipeline.store.runfiles import completed, requests_table, write_run
from tests.fixtures.rows import manifest, observation

TODAY = date(2026, 12, 1)


def checkout(root: Path) -> Workspace:
    """A checkout with the freshness limits of the repository and nothing else."""
    ws = Workspace(root)
    ws.claims.mkdir(parents=True)
    shutil.copy(REPOSITORY / "data" / "freshness.toml", ws.data)
    return ws


def with_claims_of_the_repository(root: Path) -> Workspace:
    ws = checkout(root)
    shutil.copytree(REPOSITORY / "data" / "claims", ws.claims, dirs_exist_ok=True)
    return ws


def promoted(ws: Workspace, rows: Sequence[Observation], run_id: str = "cpu-20261130T224500Z") -> None:
    rows = [row.model_copy(update={"run_id": run_id}) for row in rows]
    head = manifest(run_id=run_id, lane=rows[0].lane)
    write_run(ws.runs / run_id, completed(head, rows), rows, requests_table([]))


def repeated(values: Iterable[float], twin: float | None = None, **known: Any) -> list[Observation]:
    """Rows of one cell, tpot_p50_ms by repeat; `twin` is the A/A value beside repeat 1."""
    rows = [observation(repeat=i, tpot_p50_ms=value, **known) for i, value in enumerate(values, start=1)]
    if twin is not None:
        rows.append(observation(repeat=101, twin_of_repeat=1, tpot_p50_ms=twin, **known))
    return rows


def batch(one: Sequence[float], many: Mapping[int, Sequence[float]], twin: float | None) -> list[Observation]:
    """A batch experiment: TPOT at 1 in flight, and at others."""
    rows = repeated(one, twin, experiment="batch", concurrency=1, cell_id=f"{1:016x}")
    for concurrency, values in many.items():
        rows += repeated(values, experiment="batch", concurrency=concurrency, cell_id=f"{concurrency:016x}")
    return rows


RATIO = """
    [[evidence]]
    lane = "cpu"
    kind = "sign"
    quantity = "TPOT over TPOT at 1 in flight"
    experiments = ["batch"]
    points = 1
    sql = \"\"\"
    SELECT many.concurrency || ' in flight' AS point, many.tpot_p50_ms / one.tpot_p50_ms AS value
    FROM latest_repeats many JOIN latest_repeats one USING (run_id, lane, experiment, repeat, phase)
    WHERE lane = 'cpu' AND one.concurrency = 1 AND many.concurrency > 1 ORDER BY many.concurrency, repeat
    \"\"\"
    [evidence.rule]
    when = "at most"
    threshold = 1.0
    [evidence.rule.noise]
    experiment = "batch"
    metric = "tpot_p50_ms"
    relative = true
    no_difference = 1.0
    inside = "true"
"""


def claim_file(ws: Workspace, evidence: str = RATIO, **known: str) -> None:
    """Write claim R06, about batch and latency, with other values for the keys that are given."""
    lines = {
        "id": '"R06"',
        "topic": '"latency"',
        "source": '"B"',
        "claim": '"A larger batch does not change latency"',
        "test": '"TPOT against batch"',
        "scope": '"one server"',
        "lanes": '["gpu", "published", "cpu"]',
        "names_gpu": "false",
        "dimension": '"concurrency"',
    } | known
    head = "\n".join(f"{key} = {value}" for key, value in lines.items())
    (ws.claims / "R06.toml").write_text(f"{head}\n{textwrap.dedent(evidence)}")


def verdict(ws: Workspace, today: date = TODAY) -> Verdict:
    """The verdict on the only claim."""
    (only,) = decide(ws, today=today)
    return only
