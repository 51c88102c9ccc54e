"""The quarter of an hour on a borrowed card, rehearsed: checks, a kit, its cells, and the rows at home."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.gpu_kit import SERVERS, take, write_kit
from pipeline.paths import Workspace
from pipeline.store.runs import find_run
from tests.gpu.conftest import SERVER
from tests.telemetry.conftest import GIB, Driver

gpu_check: Any = importlib.import_module("scripts.gpu_check")


class Card:
    """A driver that gives memory and tells how much is in use."""

    def __init__(self, lost_gib: float = 0.0) -> None:
        self.used, self._lost = 1.0, lost_gib

    def allocate(self, size: int) -> int:
        self.used += size / GIB - self._lost
        return size

    def free(self, address: int) -> None:
        self.used -= address / GIB - self._lost

    def copy(self, target: int, source: int, size: int) -> None:
        assert source
        assert target


def lines(folder: Path, file: str = "checks.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def test_the_sampler_is_held_against_known_allocations(tmp_path: Path) -> None:
    card = Card(lost_gib=0.25)
    gpu_check.check_sampler(card, lambda: card.used, gpu_check.Notes(tmp_path))
    seen = [(line["expected_gib"], line["seen_gib"], line["freed_gib"]) for line in lines(tmp_path)]
    assert seen == [(1, 0.75, 0.75), (4, 3.75, 3.75), (8, 7.75, 7.75)]


def test_bandwidth_counts_reading_and_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(gpu_check.time, "perf_counter", lambda: float(next(clock)))
    gpu_check.check_bandwidth(Card(), gpu_check.Notes(tmp_path))
    assert lines(tmp_path)[0]["gb_s_best"] == pytest.approx(2 * 2 * GIB / 1e9)


def test_a_stage_that_fails_or_has_no_time_is_a_line_and_the_next_goes_on(tmp_path: Path) -> None:
    notes = gpu_check.Notes(tmp_path, limit_s=60)

    def breaks() -> None:
        raise OSError("cuInit gave 100")

    notes.stage("cuda driver", 5, breaks)
    notes.stage("vllm", 150, breaks)
    notes.stage("cost", 1, lambda: notes.write("checks.jsonl", {"check": "cost"}))
    assert lines(tmp_path)[0]["failed"] == "OSError: cuInit gave 100"
    assert str(lines(tmp_path)[1]["skipped"]).endswith("s left")
    assert lines(tmp_path)[2] == {"check": "cost"}


def test_the_kit_is_small_and_its_cells_come_home_as_rows(
    tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path / "cache"))
    kit, out = tmp_path / "kit", tmp_path / "out"
    write_kit(kit)
    assert sum(path.stat().st_size for path in kit.rglob("*") if path.is_file()) < 8 * 2**20
    plan = json.loads((kit / "kit.json").read_text())
    assert [server["line"][2:4] for server in plan["servers"]] == [["--model", "$KIT/model"]] * len(SERVERS)
    plan["servers"] = plan["servers"][:1]
    for server in plan["servers"]:
        server["line"] = [str(SERVER), "vllm", str(gpu_check.PORT), "ok"]
        for load in server["loads"]:
            load["prompts"] = load["prompts"][:24]
            load["workload"] |= {"requests": 24, "output_tokens": 3}
    (kit / "kit.json").write_text(json.dumps(plan))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    driver.set(memory_used=70 * GIB)
    notes = gpu_check.Notes(out)
    gpu_check.serve_cells(kit, notes)
    (out / "card.json").write_text(json.dumps([vars(card) for card in gpu_check_cards()]))

    ws = Workspace(tmp_path / "checkout")
    folder = take(ws, out)
    assert folder.parent == ws.local_runs
    rows = find_run(ws, folder.name).rows()
    assert [row.traffic for row in rows] == ["unshared-steady", "unshared-burst"]
    for row in rows:
        assert (row.lane, row.engine_version, row.weights, row.status) == ("gpu", "0.33.0", "dummy", "ok")
        assert (row.requests_ok, row.output_tokens) == (24, 72)
        assert (row.card_before_gib, row.card_peak_gib) == (70.0, 70.0)
        assert row.tok_s_per_w is None, "dummy weights"
        assert (row.ttft_p50_ms or 0) > 0
    shutil.rmtree(ws.root)


def gpu_check_cards() -> list[object]:
    from pipeline.telemetry import nvml

    return list(nvml.cards())
