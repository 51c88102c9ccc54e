"""The driver's library as it answers and as it fails; every value is worked out by hand."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import EngineFailure, EnvironmentMissing
from pipeline.paths import REPOSITORY
from pipeline.telemetry import nvml
from pipeline.telemetry.gpu import GpuWatch
from tests.telemetry.conftest import GIB, Driver

LOST, NO_PERMISSION, NOT_SUPPORTED, NO_DRIVER = 15, 4, 3, 9
OURS = frozenset({77})


def reading(pids: frozenset[int] | None = OURS) -> nvml.Reading:
    with nvml.session():
        return nvml.read(nvml.handle_of(0), 0, pids)


def test_a_card_is_described_as_it_is_set_up(driver: Driver) -> None:
    (card,) = nvml.cards()
    assert (card.name, card.form_factor, card.driver) == ("NVIDIA H100 80GB HBM3", "SXM", "580.95.05")
    assert (card.memory_gib, card.power_limit_w, card.sm_clock_max_mhz) == (80.0, 700.0, 1980.0)
    assert (card.ecc, card.mig) == (True, False)


def test_a_reading_has_its_units(driver: Driver) -> None:
    now = reading()
    assert (now.card_gib, now.process_gib, now.strangers) == (20.0, 18.0, False)
    assert (now.power_w, now.energy_j, now.sm_clock_mhz, now.temperature_c) == (300.0, 1000.0, 1755.0, 61.0)
    assert (now.slowed, now.power_capped) == (False, False)


def test_reasons_tell_heat_from_the_power_limit(driver: Driver) -> None:
    driver.set(reasons=0x4)
    assert (reading().slowed, reading().power_capped) == (False, True)
    driver.set(reasons=0x40)
    assert (reading().slowed, reading().power_capped) == (True, False)


def test_a_card_shared_with_another_process_is_told(driver: Driver) -> None:
    driver.set(other_pid=99)
    now = reading()
    assert (now.process_gib, now.strangers) == (18.0, True), "the other's memory is not ours"


def test_processes_that_cannot_be_matched_are_missing_and_not_zero(driver: Driver) -> None:
    assert reading(frozenset({5})).process_gib is None
    assert reading(None).strangers is None
    driver.set(error_processes=NO_PERMISSION)
    assert (reading().process_gib, reading().card_gib) == (None, 20.0)


def test_a_mig_instance_gives_memory_without_power(driver: Driver) -> None:
    driver.set(mig=1, error_power=NOT_SUPPORTED)
    assert nvml.cards()[0].mig is True
    assert nvml.cards()[0].power_limit_w is None
    assert (reading().power_w, reading().energy_j, reading().card_gib) == (None, None, 20.0)


def test_a_lost_card_is_an_error_with_its_name(driver: Driver) -> None:
    with nvml.session():
        handle = nvml.handle_of(0)
        driver.set(error_read=LOST)
        with pytest.raises(EngineFailure, match="GPU is lost"):
            nvml.read(handle, 0, OURS)


def test_without_a_driver_there_are_no_cards_and_a_session_says_so(driver: Driver) -> None:
    driver.set(error_init=NO_DRIVER)
    assert nvml.cards() == []
    with pytest.raises(EnvironmentMissing, match="no NVIDIA GPU or driver here"), nvml.session():
        pass


def test_boards_tell_their_form_by_name() -> None:
    forms = {
        "NVIDIA H100 PCIe": "PCIe",
        "NVIDIA H100 NVL": "PCIe NVL",
        "NVIDIA A100-SXM4-80GB": "SXM",
        "NVIDIA H200": "SXM",
        "NVIDIA GeForce RTX 4090": "PCIe",
        "NVIDIA Something": None,
    }
    assert {name: nvml.form_factor(name) for name in forms} == forms


def test_a_watch_sees_peak_energy_and_its_own_cost(driver: Driver) -> None:
    with nvml.session():
        watch = GpuWatch([0], lambda: OURS, samples_per_s=100)
        rest = start = watch.now()
        with watch:
            time.sleep(0.15)
            driver.set(memory_used=30 * GIB, process_bytes=27 * GIB, power_mw=650_000, reasons=0x40)
            time.sleep(0.15)
            driver.set(memory_used=21 * GIB, process_bytes=19 * GIB, energy_mj=1_250_000)
        end = watch.now()
        seen = watch.seen(rest, start, end, end, 80.0)
    assert (seen.vram_before_gib, seen.vram_peak_gib, seen.vram_after_gib) == (18.0, 27.0, 19.0)
    assert (seen.card_before_gib, seen.card_peak_gib, seen.card_total_gib) == (20.0, 30.0, 80.0)
    assert seen.energy_j == 250.0
    assert seen.power_mean_w == pytest.approx(250.0 / (end.at_s - start.at_s))
    assert seen.power_peak_w == 650.0
    assert 0 < (seen.throttled_share or 0) < 1
    assert seen.card_shared is False
    assert (seen.sampler_hz or 0) > 10
    assert seen.sampler_cpu_share is not None


def test_the_shortest_load_is_seen_once_and_a_stranger_in_it_is_told(driver: Driver) -> None:
    driver.set(other_pid=99)
    with nvml.session():
        watch = GpuWatch([0], lambda: OURS)
        now = watch.now()
        with watch:
            pass
        seen = watch.seen(now, now, now, now, 80.0)
    assert (seen.card_shared, seen.vram_peak_gib) == (True, 18.0)


def test_a_card_that_is_lost_under_load_ends_the_watch_with_its_reason(driver: Driver) -> None:
    with nvml.session():
        watch = GpuWatch([0], lambda: OURS, samples_per_s=100)
        with watch:
            driver.set(error_read=LOST)
            time.sleep(0.1)
        with pytest.raises(EngineFailure, match="GPU is lost"):
            watch.require_cards()


def test_doctor_loads_the_library_by_its_real_name(nvml_library: Path, tmp_path: Path) -> None:
    code = "from pipeline.cli.doctor import gpus; print(gpus())"
    variables = os.environ | {"LD_LIBRARY_PATH": str(nvml_library.parent), "WEIGHBRIDGE_CACHE": str(tmp_path)}
    seen = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=variables,
        check=True,
        cwd=REPOSITORY,
    )
    assert seen.stdout == "['NVIDIA H100 80GB HBM3, 80 GiB, driver 580.95.05']\n"
