"""Cells over a cluster: two nodes on one machine, one of them killed in mid-run."""

from __future__ import annotations

import importlib.util
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.spread import named, store
from pipeline.errors import EnvironmentMissing
from pipeline.paths import Workspace
from pipeline.plan import Machine, load_profile, plan
from pipeline.run.spread import Collected, Share, experiments_of, spread
from pipeline.schemas.identity import cell_id
from pipeline.schemas.profile import PlannedCell
from pipeline.store.journal import Journal
from tests.fixtures.rows import manifest, observation

PROFILE = load_profile("gpu-nightly")
BASE = "gpu-nightly-20261201T010000Z"
HAS_RAY = importlib.util.find_spec("ray") is not None


def whole() -> Any:
    return plan(PROFILE, Machine(8, 1, 80.0))


def measured(cells: list[PlannedCell], host: str = "a" * 16, wait_s: float = 0.0) -> Share:
    """A row for each cell, after a while."""
    time.sleep(wait_s)
    collected = Collected()
    for planned in cells:
        identity = cell_id(planned.cell, {"vllm": "0.33.0", "tensorrt-llm": "1.2.1"})
        known = {"cell_id": identity, "repeat": planned.repeat, "experiment": planned.cell.experiment}
        collected.append([observation(lane="gpu", run_id=named(BASE, host), host_id=host, **known)], [])
    return Share(manifest().host.model_copy(update={"host_id": host}), {}, {}, {}, collected)


def test_an_experiment_stays_together_and_none_is_left_out() -> None:
    groups = experiments_of(whole())
    assert [len({each.cell.experiment for each in group}) for group in groups] == [1] * len(groups)
    assert sum(len(group) for group in groups) == len(whole().cells)
    assert {each.repeat for each in groups[0]} >= {1, 2, 3}, "all rounds of it"


def test_a_share_that_comes_twice_is_stored_once_and_each_machine_has_its_run(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    journals: dict[str, tuple[Journal, Share]] = {}
    group = experiments_of(whole())[0]
    for host in ("a" * 16, "a" * 16, "b" * 16):
        store(ws, PROFILE, BASE, measured(group, host), journals)
    assert [len(journal.rows()) for journal, _ in journals.values()] == [len(group), len(group)]
    assert [journal.run_id for journal, _ in journals.values()] == [
        "gpu-nightly-aaaaaa-20261201T010000Z",
        "gpu-nightly-bbbbbb-20261201T010000Z",
    ]


@pytest.mark.skipif(HAS_RAY, reason="Ray is here")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(EnvironmentMissing, match="Ray is not installed"):
        list(spread(whole(), measured, lambda _line: None))


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed (the optional extra `ray`)")
@pytest.mark.filterwarnings("ignore")
def test_a_node_killed_in_mid_run_costs_no_row_and_doubles_none(tmp_path: Path) -> None:
    ray: Any = importlib.import_module("ray")
    cluster_utils: Any = importlib.import_module("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "num_gpus": 0})
    nodes = [cluster.add_node(num_cpus=2, num_gpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        small = whole().model_copy(update={"cells": whole().cells[:40]})

        def work(cells: list[PlannedCell]) -> Share:
            return measured(cells, wait_s=4.0)

        shares = []
        for share in spread(small, work, lambda _line: None):
            shares.append(share)
            if len(shares) == 1:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
    finally:
        ray.shutdown()
        cluster.shutdown()
    ws = Workspace(tmp_path)
    journals: dict[str, tuple[Journal, Share]] = {}
    for share in shares:
        store(ws, PROFILE, BASE, share, journals)
    ((journal, _),) = journals.values()
    wanted = Counter(
        (cell_id(c.cell, {"vllm": "0.33.0", "tensorrt-llm": "1.2.1"}), c.repeat) for c in small.cells
    )
    assert Counter((row.cell_id, row.repeat) for row in journal.rows()) == wanted
