"""Floors, costs, waste, and the arithmetic that claims contain."""

import pytest

from pipeline.catalogue import catalogue
from pipeline.derived.bounds import peak_tflops
from pipeline.derived.cost import (
    token_budget_ms,
    usd_of_idle_memory,
    usd_per_gb_hour,
    usd_per_million_tokens,
    usd_per_request,
    usd_per_year,
)
from pipeline.derived.floors import (
    all_to_all_bytes,
    decode_step_ms,
    fibre_round_trip_ms,
    prefill_ms,
    transfer_ms,
)
from pipeline.derived.fragmentation import contiguous_waste, paged_waste
from pipeline.derived.register import FORMULAS
from pipeline.derived.tables import compute_tables
from pipeline.paths import Workspace


def test_twenty_tokens_a_second_leave_fifty_ms_so_twelve_fit() -> None:
    assert token_budget_ms(20) == 50
    assert token_budget_ms(20) > 12


def test_the_claimed_price_at_the_claimed_rate_is_tens_of_billions_a_year() -> None:
    assert usd_per_year(0.12, 10_000) == pytest.approx(37.8432e9)


def test_idle_memory_at_the_claimed_sum_costs_three_times_the_price_it_is_part_of() -> None:
    assert pytest.approx(0.36) == 12 * 0.03
    assert pytest.approx(3) == 12 * 0.03 / 0.12


def test_the_claimed_sum_is_a_price_for_a_gb_and_hour() -> None:
    assert usd_per_gb_hour(2.4, 80) == pytest.approx(0.03)
    assert usd_of_idle_memory(12, 2.4, 80, 3600) == pytest.approx(0.36)
    assert usd_of_idle_memory(12, 2.4, 80, 10) == pytest.approx(0.001)


def test_cost_of_requests_and_tokens() -> None:
    assert usd_per_request(3.6, 2, 4.0) == pytest.approx(0.0005)
    assert usd_per_request(3.6, 2, 4.0, 0.5) == pytest.approx(0.001)
    assert usd_per_million_tokens(3.6, 1000) == pytest.approx(1.0)


def test_floors() -> None:
    assert transfer_ms(1e9, 50) == pytest.approx(20)
    assert decode_step_ms(16e9, 0, 3350) == pytest.approx(4.776, abs=0.001)
    assert prefill_ms(70e9, 1000, 989) == pytest.approx(141.6, abs=0.1)
    assert prefill_ms(70e9, 1000, 989, 8) == pytest.approx(17.7, abs=0.1)
    assert fibre_round_trip_ms(6600) == pytest.approx(64.6, abs=0.1)


def test_the_peak_is_that_of_the_narrowest_format_the_weights_have() -> None:
    board = catalogue(Workspace()).board("b200_sxm")
    assert [peak_tflops(board, bits) for bits in (16, 8, 4.5)] == [2250, 4500, 9000]
    assert peak_tflops(catalogue(Workspace()).board("a100"), 4) == 312


def test_experts_on_one_gpu_send_nothing() -> None:
    assert all_to_all_bytes(60, 8, 7168, 1, 1) == 0
    assert all_to_all_bytes(60, 8, 7168, 1, 64) == pytest.approx(6.77e6, rel=0.01)


def test_waste_of_contiguous_reservation_and_of_blocks() -> None:
    assert contiguous_waste(1000, 4000) == 0.75
    assert paged_waste(1000, 8) == pytest.approx(0.0079, abs=0.0001)


def test_every_formula_is_documented_with_unit_and_source() -> None:
    assert len(FORMULAS) > 15
    assert all(entry.meaning and entry.unit and entry.source for entry in FORMULAS.values())


def test_the_whole_lane_computes() -> None:
    tables = compute_tables(catalogue(Workspace()))
    assert len(tables["fit"]) > 10_000
    assert all(tables.values())
