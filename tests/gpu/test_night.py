"""A dry night: from cells on a card that stands in to a published page, and nothing at all when it fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.analysis.verdicts import decide
from pipeline.analysis.views import query
from pipeline.cli.bench import Bench
from pipeline.cli.night import night
from pipeline.cli.run import measure
from pipeline.engines.launchers import Garage
from pipeline.errors import CheckFailed
from pipeline.lanes import gpu
from pipeline.paths import REPOSITORY, Workspace
from pipeline.plan import Machine as Planned
from pipeline.plan import plan, plan_night
from pipeline.run.host import describe_host
from pipeline.schemas.gpu import GpuSettings
from pipeline.schemas.profile import Plan, Profile, Selection
from pipeline.store.runs import list_runs
from pipeline.telemetry import nvml
from tests.fixtures.site import text_of, write_pages
from tests.gpu.conftest import CONTEXT, DIGESTS, PROFILE, Machine
from tests.telemetry.conftest import GIB

PAGE = """---
number: 3
title: What does memory do in a burst?
topic: memory
level: mid
written_for: {M01: fails}
answer: "It stays: {peak} at the peak."
facts:
  peak:
    label: memory at the peak
    lane: gpu
    unit: GiB
    sql: >-
      SELECT run_id, repeat, card_peak_gib AS value FROM latest_repeats
      WHERE lane = 'gpu' AND experiment = 'gpu_defaults' AND phase = 'whole' AND engine = 'vllm'
      AND traffic = 'unshared-burst'
tables:
  engines:
    title: "Both engines."
    caption: One row for each engine.
    lane: gpu
    columns:
      engine: {title: Engine, format: text}
      peak: {title: Peak, unit: GiB}
    sql: >-
      SELECT run_id, engine, max(card_peak_gib) AS peak FROM latest_repeats
      WHERE lane = 'gpu' AND experiment = 'gpu_defaults' AND phase = 'whole' GROUP BY ALL ORDER BY engine
contrasts:
  spike:
    label: bad
    says: It spikes in bursts.
    refuted: The peak was {peak}.
    right_when: the pool grows with load
    good: It is reserved at start, here {peak}.
    good_because: it names the size
---
{{ verdict() }}

{{ table("engines") }}

{{ contrast() }}

{{ evidence() }}
"""
SMALL = PROFILE.model_copy(
    update={
        "experiments": (
            Selection(name="gpu_defaults", core=True, min_gpus=1, twins={"engine.name": ("vllm",)}),
        )
    }
)


def short(whole: Plan) -> Plan:
    """The same cells with a handful of short requests each, on the smallest model."""
    cells = []
    for planned in whole.cells:
        work = planned.cell.workload.model_copy(
            update={"requests": 24, "prompt_tokens": 32, "output_tokens": 2}
        )
        engine = planned.cell.engine.model_copy(update={"model": "wb-1b"})
        cell = planned.cell.model_copy(update={"workload": work, "engine": engine})
        cells.append(planned.model_copy(update={"cell": cell}))
    return whole.model_copy(update={"cells": tuple(cells)})


def measured(machine: Machine) -> Path:
    """The profile through the real measuring command, on a bench that needs no environment."""
    garage = Garage(GpuSettings(), PROFILE.engines, DIGESTS)
    cards = nvml.cards()
    lane = gpu.GpuLane(garage, cards, machine.said.append)
    bench = Bench(lane, describe_host(cards), CONTEXT.versions, {"aiperf": "0" * 64}, DIGESTS)
    return measure(machine.ws, short(plan(SMALL, Planned(8, 1, 80.0))), bench=bench)


@pytest.fixture
def checkout(machine: Machine) -> Machine:
    shutil.copytree(REPOSITORY / "data" / "claims", machine.ws.claims)
    shutil.copy(REPOSITORY / "data" / "freshness.toml", machine.ws.data)
    write_pages(machine.ws.root, {"questions/burst.md": PAGE, "runs.md": "# Runs\n\n{{ runs() }}\n"})
    config = machine.ws.root / "mkdocs.yml"
    config.write_text(config.read_text().replace("nav: [index.md,", "nav: [index.md, runs.md,"))
    machine.ws.site.mkdir()
    (machine.ws.site / "index.html").write_text("the last good site")
    return machine


def state(ws: Workspace) -> dict[str, bytes]:
    places = [*ws.data.rglob("*"), *ws.site.rglob("*")]
    return {str(path): path.read_bytes() for path in places if path.is_file()}


def test_a_night_goes_from_cells_to_a_published_page(checkout: Machine) -> None:
    ws = checkout.ws
    checkout.driver.set(memory_used=72 * GIB, process_bytes=70 * GIB)
    line = night(ws, SMALL, lambda _ws, _profile: measured(checkout))
    (run,) = list_runs(ws, "promoted")
    assert f"promoted {run.run_id}: 14 cells ok, 0 failed" in line
    host = run.manifest.host
    assert (host.gpu_name, host.gpu_form_factor, host.gpu_count) == ("NVIDIA H100 80GB HBM3", "SXM", 1)
    assert (host.gpu_driver, host.gpu_power_limit_w, host.gpu_ecc, host.gpu_mig) == (
        "580.95.05",
        700.0,
        True,
        False,
    )
    assert run.manifest.image_digests == DIGESTS

    verdicts = {verdict.id: verdict for verdict in decide(ws)}
    assert (verdicts["M01"].verdict, verdicts["M01"].lane, verdicts["M01"].value) == ("fails", "gpu", 0.0)
    assert (verdicts["M20"].verdict, verdicts["M20"].lane) == ("fails", "gpu"), "no difference is not less"
    assert (verdicts["M02"].verdict, verdicts["M02"].value) == ("fails", 72 / 80)

    page = text_of((ws.site / "questions" / "burst" / "index.html").read_text())
    assert "It stays: 72" in page
    runs = (ws.site / "runs" / "index.html").read_text()
    assert DIGESTS["vllm/vllm-openai:v0.33.0"].rpartition("@")[2] in runs
    assert "--max-model-len 8192" in runs, "the command line is shown as it was run"
    assert "enable_iter_perf_stats: true" in runs, "and the configuration file"
    assert len(query(ws, "SELECT * FROM launches")) == 2
    ages = query(ws, "SELECT engine, experiment, age_days FROM coverage ORDER BY engine")
    assert list(ages["engine"]) == ["tensorrt-llm", "vllm"]

    # A run with nothing in it but failures is set aside, and the site that was published stays.
    before = state(ws)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_MODE", "out-of-memory")
        with pytest.raises(CheckFailed, match="failed its checks and is in quarantine"):
            night(ws, SMALL, lambda _ws, _profile: measured_again(checkout))
    assert state(ws) == before
    assert "no cell succeeded" in str(list_runs(ws, "quarantined")[0].reason)


def measured_again(machine: Machine) -> Path:
    """A second run a second later: runs are named by the second they start in."""
    garage = Garage(GpuSettings(), PROFILE.engines, DIGESTS)
    cards = nvml.cards()
    bench = Bench(gpu.GpuLane(garage, cards, machine.said.append), describe_host(cards), CONTEXT.versions, {})
    one = short(plan(SMALL, Planned(8, 1, 80.0)))
    return measure(machine.ws, one.model_copy(update={"cells": one.cells[:1]}), bench=bench)


def test_a_page_that_cannot_be_built_quarantines_the_run_and_changes_nothing(
    checkout: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = checkout.ws

    def refuses(_ws: Workspace) -> None:
        raise CheckFailed("a chart has no value", where="docs/questions/burst.md")

    folder = ws.local_runs / "gpu-nightly-20261201T010000Z"
    rows_of_a_run(folder)
    before = state(ws)
    monkeypatch.setattr("pipeline.site.build.build_site", refuses)
    with pytest.raises(CheckFailed, match="no site can be built from the night's run"):
        night(ws, SMALL, lambda _ws, _profile: folder)
    assert state(ws) == before, "never a half-published night"
    assert "a chart has no value" in str(list_runs(ws, "quarantined")[0].reason)
    assert (ws.site / "index.html").read_text() == "the last good site"


def rows_of_a_run(folder: Path) -> None:
    from pipeline.store.runfiles import completed, requests_table, write_run
    from tests.fixtures.rows import manifest, observation

    rows = [
        observation(run_id=folder.name, lane="gpu", experiment="gpu_defaults", repeat=n) for n in (1, 2, 3)
    ]
    head = manifest(run_id=folder.name, profile="gpu-nightly", lane="gpu")
    write_run(folder, completed(head, rows), rows, requests_table([]))


def test_the_plan_of_a_night_is_the_same_on_a_machine_without_a_card() -> None:
    profile: Profile = PROFILE
    assert (
        plan_night(profile, Planned(2), {}, {}).plan == plan_night(profile, Planned(2, 1, 80.0), {}, {}).plan
    )
