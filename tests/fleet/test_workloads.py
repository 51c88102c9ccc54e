"""Workloads: what the builders make, and what a workload refuses to hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.fleet.arrivals import diurnal, gamma, poisson
from pipeline.fleet.builders import open_loop, sessions, zipf_prefixes
from pipeline.fleet.workload import Workload
from tests.fleet.made import message, prefixes, talks


def chain(load: Workload, request: int) -> list[int]:
    start = load.chain_start[request]
    return [int(one) for one in load.chain_ids[start : start + load.chain_blocks[request]]]


def test_poisson_arrivals_have_their_rate_and_exponential_gaps() -> None:
    times = poisson(50.0, requests=40_000, seed=3)
    gaps = np.diff(times)
    assert times[-1] == pytest.approx(800, rel=0.02)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.03)


def test_gamma_arrivals_come_in_bursts_of_the_asked_variance() -> None:
    gaps = np.diff(gamma(50.0, 0.25, requests=40_000, seed=3))
    assert gaps.mean() == pytest.approx(0.02, rel=0.05)
    assert (gaps.std() / gaps.mean()) ** 2 == pytest.approx(4.0, rel=0.1)


def test_arrivals_end_with_their_duration() -> None:
    times = poisson(100.0, 60.0, seed=5)
    assert times[-1] < 60
    assert times.size == pytest.approx(6000, rel=0.05)


def test_equal_seeds_make_equal_arrivals() -> None:
    assert np.array_equal(poisson(10, 60, seed=4), poisson(10, 60, seed=4))
    assert not np.array_equal(poisson(10, requests=9, seed=4), poisson(10, requests=9, seed=5))


def test_each_region_has_its_peak_at_its_own_hour() -> None:
    times, region = diurnal([2.0, 2.0], 86_400, peak_to_mean=1.8, phase_hours=[0, 12], seed=1)
    assert (np.diff(times) >= 0).all()
    noon = np.abs(times - 43_200) < 3_600
    assert times.size == pytest.approx(4 * 86_400, rel=0.01)
    assert (noon & (region == 1)).sum() / (noon & (region == 0)).sum() == pytest.approx(1.8 / 0.2, rel=0.2)


def test_requests_of_a_group_share_the_prefix_and_nothing_else() -> None:
    load = zipf_prefixes(
        np.arange(50.0),
        groups=3,
        prefix_tokens=[512, 256, 300],
        private_tokens=300,
        output_tokens=10,
        skew=1.0,
        hash_block_tokens=256,
    )
    shared = {0: 2, 1: 1, 2: 1}
    seen: dict[int, set[tuple[int, ...]]] = {0: set(), 1: set(), 2: set()}
    private: list[int] = []
    for one in range(50):
        blocks, group = chain(load, one), int(load.group[one])
        assert len(blocks) == (load.input_tokens[one] + 10) // 256
        seen[group].add(tuple(blocks[: shared[group]]))
        private += blocks[shared[group] :]
    assert [len(starts) for starts in seen.values()] == [1, 1, 1]
    assert len(private) == len(set(private))


def test_without_private_blocks_only_prefixes_have_ids() -> None:
    load = prefixes(500, private_blocks=False)
    assert load.block_count == 12 * 256 // 64
    assert set(load.chain_blocks) == {4}


def test_popularity_follows_the_exponent() -> None:
    load = prefixes(40_000, groups=100, skew=1.2)
    count = np.bincount(load.group)
    assert count[0] / count[9] == pytest.approx(10**1.2, rel=0.1)


def test_a_regional_share_sends_that_share_to_groups_of_the_own_region() -> None:
    region = np.arange(20_000) % 2
    load = prefixes(20_000, groups=100, skew=0.0, region=region, regional_share=0.6)
    own = load.group - 40 - 30 * region
    local = (own >= 0) & (own < 30)
    assert local.mean() == pytest.approx(0.6, abs=0.02)
    assert (load.group[~local] < 40).all()
    assert load.group.max() == 99


def test_a_turn_holds_all_turns_and_answers_before_it() -> None:
    load = talks(5, turns=3, output_tokens=30)
    assert list(load.input_tokens[:3]) == [228, 308, 388]
    assert list(load.after[:4]) == [-1, 0, 1, -1]
    assert np.isnan(load.arrival_s[1])
    first, last = chain(load, 0), chain(load, 2)
    assert last[: len(first)] == first
    assert len(last) == (388 + 30) // 64
    other = chain(load, 3)
    assert other[:2] == first[:2]
    assert not set(other[2:]) & set(last)


def test_sessions_may_differ_in_length() -> None:
    load = sessions(
        sessions=3,
        turns=[1, 2, 1],
        first_tokens=[10, 20, 30],
        turn_tokens=5,
        output_tokens=[1, 2, 3, 4],
        think_s=[0, 0, 7, 0],
        start_rate_per_s=1.0,
    )
    assert list(load.input_tokens) == [10, 20, 27, 30]
    assert list(load.after) == [-1, -1, 1, -1]
    assert load.think_s[2] == 7


def test_a_workload_describes_itself() -> None:
    found = talks(50).describe()
    assert found["requests"] == 200
    assert found["sessions"] == 50
    assert found["followers"] == 150


@pytest.mark.parametrize("rate", [float("nan"), 0.0, -1.0, float("inf")])
def test_a_rate_must_be_a_number_above_zero(rate: float) -> None:
    assert "rate_per_s is" in message(lambda: poisson(rate, requests=5))


def test_bad_workloads_are_refused_with_the_request() -> None:
    assert "out of order" in message(lambda: open_loop([1.0, 3.0, 2.0], 10, 10))
    assert "NaN" in message(lambda: open_loop([1.0, float("nan")], 10, 10))
    assert "request 1" in message(lambda: open_loop([1.0, 2.0], [10, 0], 10))
    assert "output_tokens is -1" in message(lambda: open_loop([1.0, 2.0], 10, [-1, 1]))
    assert "10 tokens, 5 allowed" in message(lambda: open_loop([1.0], 10, 10, max_output_tokens=5))
    assert "without requests" in message(lambda: open_loop([], 10, 10))
    assert "needs the region" in message(lambda: prefixes(10, regional_share=0.5))
    assert "start_rate_per_s is nan" in message(lambda: talks(3, start_rate_per_s=float("nan")))
    assert "skew is nan" in message(lambda: prefixes(10, skew=float("nan")))
    assert "arrivals need duration_s or requests" in message(lambda: poisson(1.0))


def test_followers_must_come_after_one_request_each() -> None:
    load = talks(2, turns=2)
    assert "not before it" in message(lambda: replace(load, after=np.array([-1, 1, -1, 2], np.int32)))
    assert "wait for the same" in message(lambda: replace(load, after=np.array([-1, 0, -1, 0], np.int32)))


def test_chains_must_lie_where_the_ids_are() -> None:
    load = prefixes(5)
    beyond = load.chain_start + 10_000
    assert "outside chain_ids" in message(lambda: replace(load, chain_start=beyond))
    assert "fill" in message(lambda: replace(load, hash_block_tokens=512))
