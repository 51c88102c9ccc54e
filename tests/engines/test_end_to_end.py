"""The main job in small, all real: vLLM, vllm-router and AIPerf are started, measured, stored and stopped."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from pyarrow import parquet

from pipeline.analysis.views import query
from pipeline.cli.run import measure
from pipeline.environments import environment
from pipeline.paths import REPOSITORY, Workspace
from pipeline.plan import load_profile, plan
from pipeline.process import stop_leftovers
from pipeline.schemas.cell import Cell, EngineKnobs, RouterKnobs, Workload
from pipeline.schemas.profile import Plan, PlannedCell
from pipeline.site.build import build_site

pytestmark = pytest.mark.engine

REQUESTS = 40
PREFIXES, PREFIX_TOKENS, OWN_TOKENS = 4, 128, 16


def pressed() -> Cell:
    """The first cell of cpu-quick: 47 usable blocks, where 16 sequences of 356 tokens need 192."""
    cell = plan(load_profile("cpu-quick")).cells[0].cell
    assert (cell.engine.kv_pool_blocks, cell.workload.concurrency) == (48, 16)
    return cell


def routed() -> Cell:
    """Four shared prefixes over two replicas with room for all of them."""
    return Cell(
        experiment="routing",
        lane="cpu",
        engine=EngineKnobs(name="vllm", model="wb-small", kv_pool_blocks=96, replicas=2),
        router=RouterKnobs(policy="cache_aware"),
        workload=Workload(
            traffic="shared-even",
            requests=REQUESTS,
            concurrency=4,
            prompt_tokens=OWN_TOKENS,
            output_tokens=8,
            prefixes=PREFIXES,
            prefix_tokens=PREFIX_TOKENS,
            seed=7,
        ),
    )


@dataclass(frozen=True)
class Done:
    """A finished small run."""

    ws: Workspace
    folder: Path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """One real run of both cells."""
    ws = Workspace(tmp_path_factory.mktemp("checkout"))
    shutil.copytree(REPOSITORY / "data", ws.data)
    cells = tuple(
        PlannedCell(cell=cell, repeat=1, twin_of_repeat=None, expected_s=20) for cell in (pressed(), routed())
    )
    yield Done(ws, measure(ws, Plan(profile=load_profile("cpu-quick"), cells=cells)))
    stop_leftovers(ws.local / "running")


def one(done: Done, sql: str) -> dict[str, object]:
    """The only row of a query."""
    rows = query(done.ws, sql).to_dict("records")
    assert len(rows) == 1, rows
    return {str(name): value for name, value in rows[0].items()}


def test_the_run_is_stored_whole_with_its_versions(done: Done) -> None:
    manifest = json.loads((done.folder / "manifest.json").read_text())
    assert done.folder.parent == done.ws.local_runs, "not in quarantine"
    assert (manifest["cells_ok"], manifest["cells_failed"]) == (2, 0)
    assert manifest["versions"] == {"vllm": "0.32.0", "vllm-router": "0.1.17", "aiperf": "0.13.0"}
    assert manifest["requirements_sha256"]["aiperf"] == environment("aiperf").requirements_sha256
    assert not list(done.ws.journals.iterdir())


def test_a_small_pool_preempts_and_computes_again(done: Done) -> None:
    row = one(done, "SELECT * FROM local_observations WHERE experiment = 'kv_pressure'")
    sent = pressed().workload.requests
    assert row["status"] == "ok"
    assert row["requests_ok"] == sent
    assert row["output_tokens"] == sent * 256, "every preempted request was finished in full"
    assert row["prompt_tokens"] == sent * 100
    assert int(str(row["preemptions"])) > 0
    assert int(str(row["recomputed_tokens"])) > 100
    assert row["kv_pool_tokens"] == 48 * 32, "read back from the engine"
    assert float(str(row["kv_usage_peak"])) > 0.8
    assert float(str(row["rss_before_gib"])) > 0.5
    assert float(str(row["ttft_p50_ms"])) > 0


def test_the_router_routes_by_prefix_and_says_so(done: Done) -> None:
    row = one(done, "SELECT * FROM local_observations WHERE experiment = 'routing' AND phase = 'whole'")
    ceiling = (REQUESTS - PREFIXES) / REQUESTS * PREFIX_TOKENS / (PREFIX_TOKENS + OWN_TOKENS)
    assert float(str(row["prefix_hit_ceiling"])) == pytest.approx(ceiling)
    assert float(str(row["prefix_hit_rate"])) == pytest.approx(ceiling, abs=0.1)
    decided = [int(str(row[f"router_{word}"])) for word in ("prefix_hits", "prefix_misses", "missing_tokens")]
    assert sum(decided) == REQUESTS
    assert decided[0] >= REQUESTS - PREFIXES - decided[2] - 2
    assert 1.0 <= float(str(row["imbalance"])) <= 2.0
    steady = one(done, "SELECT * FROM local_observations WHERE experiment = 'routing' AND phase = 'steady'")
    assert float(str(steady["prefix_hit_rate"])) > float(str(row["prefix_hit_rate"]))


def test_every_request_is_joined_to_the_replica_that_served_it(done: Done) -> None:
    rows = parquet.read_table(done.folder / "requests.parquet").to_pylist()
    routed_rows = [row for row in rows if row["prefix_id"] is not None]
    assert len(rows) == pressed().workload.requests + REQUESTS
    assert len(routed_rows) == REQUESTS
    assert {row["worker"] for row in routed_rows} == {0, 1}
    homes: dict[int, set[int]] = {}
    for row in routed_rows:
        homes.setdefault(row["prefix_id"], set()).add(row["worker"])
    # Requests that left before the first answer of their prefix came back may have gone elsewhere.
    assert sum(len(workers) == 1 for workers in homes.values()) >= PREFIXES // 2


def test_the_page_shows_this_machines_values_beside_the_published_ones(done: Done) -> None:
    row = one(done, "SELECT * FROM local_observations WHERE experiment = 'kv_pressure'")
    built = build_site(done.ws)
    page = (built.site / "questions" / "kv-memory-runs-out" / "index.html").read_text()
    for fact, column in (("preempted", "preemptions"), ("recomputed", "recomputed_tokens")):
        line = re.search(rf'<tr id="ev-{fact}">.*?</tr>', page, re.DOTALL)
        assert line, fact
        mine = re.search(r'<td class="num wb-mine">(.*?)</td>', line[0])
        assert mine, fact
        assert mine[1].replace(",", "").split("\u00a0")[0] == str(row[column])
    assert done.folder.name in page


def test_nothing_is_left_running(done: Done) -> None:
    left = [
        process.info["name"]
        for process in psutil.process_iter(["name", "cmdline"])
        if str(done.ws.root) in " ".join(process.info["cmdline"] or [])
    ]
    assert not left
    assert not list((done.ws.local / "running").glob("*.json"))


def test_an_engine_that_cannot_start_names_the_engines_own_reason(tmp_path: Path) -> None:
    """30 blocks of 32 tokens cannot hold one sequence of 1,024 tokens."""
    cell = pressed().model_copy(update={"engine": pressed().engine.model_copy(update={"kv_pool_blocks": 30})})
    planned = PlannedCell(cell=cell, repeat=1, twin_of_repeat=None, expected_s=20)
    ws = Workspace(tmp_path)
    folder = measure(ws, Plan(profile=load_profile("cpu-quick"), cells=(planned,)))
    assert folder.parent == ws.quarantine, "a run without one success is not a result"
    row = json.loads((folder / "observations.jsonl").read_text())
    assert row["status"] == "failed"
    assert "max seq len" in row["failure"] or "max_model_len" in row["failure"], row["failure"]


def test_term_stops_the_real_engine_with_the_command(tmp_path: Path) -> None:
    code = (
        "import signal, sys, pathlib\n"
        "from pipeline.cli.run import measure\n"
        "from pipeline.paths import Workspace\n"
        "from pipeline.plan import load_profile, plan\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "measure(Workspace(pathlib.Path(sys.argv[1])), plan(load_profile('cpu-quick')))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "starting" in line:
                break
        notes = tmp_path / ".weighbridge" / "running"
        while not list(notes.glob("*.json")):
            pass
        session = int(next(iter(notes.glob("*.json"))).stem)
        child.send_signal(signal.SIGTERM)
        rest = child.stderr.read()
    assert "goes on from here" in rest
    assert not psutil.pid_exists(session)
