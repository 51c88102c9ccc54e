"""The compiled core does to the letter what the plain reference says, request by request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.fleet.arrivals import diurnal
from pipeline.fleet.config import ADMISSIONS, POLICIES, EngineConfig, Failure, FleetConfig, RouterConfig
from pipeline.fleet.reference import simulate_plainly
from pipeline.fleet.regions import cloud_regions
from pipeline.fleet.results import Results
from pipeline.fleet.simulate import simulate
from pipeline.fleet.workload import Workload
from tests.fleet.made import TABLE, prefixes, talks

BY_SESSION = ("sticky_least_loaded", "consistent_hash", "bounded_hash")


def engine(**changes: Any) -> EngineConfig:
    base = {"kv_pool_tokens": 4000, "max_num_seqs": 16, "max_num_batched_tokens": 512}
    return EngineConfig(**(base | changes))


def same(config: FleetConfig, load: Workload) -> Results:
    """Both simulators, which must agree in everything that is recorded."""
    fast, plain = simulate(config, TABLE, load), simulate_plainly(config, TABLE, load)
    record = plain.record
    for name in ("status", "replica", "hit_tokens", "offload_hit_tokens", "preemptions"):
        assert np.array_equal(getattr(fast, name), getattr(record, name)), name
    network = np.zeros(load.requests)
    if config.regions is not None:
        sent = record.replica >= 0
        network[sent] = config.regions.rtt_ms[load.region[sent], config.regions.home[record.replica[sent]]]
    first, ended = record.first_s - record.arrival_s, record.ended_s - record.arrival_s
    finished = record.status == 0
    assert fast.arrival_s == pytest.approx(record.arrival_s, rel=1e-9, nan_ok=True)
    assert fast.ttft_ms[finished] == pytest.approx((first * 1000 + network)[finished], abs=1e-5)
    assert fast.e2e_ms[finished] == pytest.approx((ended * 1000 + network)[finished], abs=1e-5)
    assert fast.replica_busy_s == pytest.approx([one.busy_s for one in plain.replicas])
    assert list(fast.replica_peak_kv_blocks) == [one.peak for one in plain.replicas]
    assert fast.steps == sum(one.steps for one in plain.replicas)
    assert fast.steps_outside_table == sum(one.outside for one in plain.replicas)
    return fast


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "hierarchical"])
def test_every_policy(policy: Any) -> None:
    load = talks(40) if policy in BY_SESSION else prefixes(200)
    found = same(FleetConfig(4, engine(), RouterConfig(policy)), load)
    assert found.finished == load.requests


@pytest.mark.parametrize("admission", ADMISSIONS)
def test_every_admission_rule_under_pressure(admission: Any) -> None:
    pool = 4000 if admission == "static" else 1500
    found = same(
        FleetConfig(2, engine(admission=admission, kv_pool_tokens=pool), RouterConfig("random")), talks(60)
    )
    assert (found.preemptions_total > 0) == (admission in ("recompute", "max_utilization"))


def test_blocks_visible_at_admission_and_answers_not_cached() -> None:
    early = same(FleetConfig(2, engine(visible="admission"), RouterConfig("prefix_aware")), prefixes(200))
    late = same(FleetConfig(2, engine(), RouterConfig("prefix_aware")), prefixes(200))
    assert early.hit_rate is not None
    assert late.hit_rate is not None
    assert early.hit_rate > late.hit_rate
    same(FleetConfig(2, engine(cache_outputs=False), RouterConfig("prefix_aware")), talks(40))


def test_an_off_load_tier() -> None:
    tier = engine(kv_pool_tokens=1500, offload_tokens=3000, kv_bytes_per_token=1e5)
    found = same(FleetConfig(2, tier, RouterConfig("power_of_two")), talks(60))
    assert found.offload_hit_tokens.sum() > 0


@pytest.mark.parametrize("policy", ["least_outstanding", "kv_usage", "kv_router"])
@pytest.mark.parametrize("own", [False, True])
def test_a_router_that_sees_late(policy: Any, own: bool) -> None:
    late = RouterConfig(policy, view_delay_ms=200, view_counts_own=own)
    same(FleetConfig(4, engine(), late), prefixes(150))


def test_a_full_queue_rejects_and_drops_the_rest_of_the_session() -> None:
    found = same(
        FleetConfig(2, engine(max_queued=3, max_num_seqs=4), RouterConfig("power_of_two")), talks(80)
    )
    assert found.rejected > 0
    assert (found.status == 2).sum() > 0


@pytest.mark.parametrize(
    "policy", ["power_of_two", "prefix_aware", "sticky_least_loaded", "bounded_hash", "kv_usage", "kv_router"]
)
def test_replicas_that_fail_and_come_back_empty(policy: Any) -> None:
    tier = engine(kv_pool_tokens=2500, offload_tokens=1000, kv_bytes_per_token=1e5)
    breaks = (Failure(0, 1.0, 3.0), Failure(2, 2.5, 4.0))
    found = same(FleetConfig(3, tier, RouterConfig(policy), failures=breaks), talks(60))
    assert found.finished == 240


@pytest.mark.parametrize("inner", ["power_of_two", "prefix_aware", "round_robin", "cache_aware"])
@pytest.mark.parametrize("spill", [3.0, float("inf")])
def test_regions_first_then_a_policy_inside(inner: Any, spill: float) -> None:
    regions = cloud_regions(["virginia", "dublin", "tokyo"], [2, 1, 2])
    times, region = diurnal([10.0, 5, 8], 10, day_s=10, phase_hours=[0, 5, 12])
    load = prefixes(times.size, region=region, regional_share=0.5)
    router = RouterConfig("hierarchical", inner=inner, spill_outstanding=spill)
    found = same(FleetConfig(5, engine(), router, regions=regions), load)
    away = found.traffic_requests.sum() - np.trace(found.traffic_requests)
    assert (away > 0) == (spill == 3.0)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_small_fleets(data: st.DataObject) -> None:
    draw = data.draw
    policy = draw(st.sampled_from([policy for policy in POLICIES if policy != "hierarchical"]))
    seed = draw(st.integers(1, 10_000))
    closed = policy in BY_SESSION or draw(st.booleans())
    load = talks(25, seed=seed) if closed else prefixes(80, seed=seed, groups=draw(st.integers(1, 20)))
    config = FleetConfig(
        draw(st.integers(1, 5)),
        engine(
            kv_pool_tokens=draw(st.sampled_from([1024, 1600, 4000, 100_000])),
            block_tokens=draw(st.sampled_from([8, 16, 32])),
            max_num_seqs=draw(st.sampled_from([1, 3, 16])),
            max_num_batched_tokens=draw(st.sampled_from([16, 100, 8192])),
            admission=draw(st.sampled_from(["recompute", "no_evict", "max_utilization"])),
            prefix_caching=draw(st.booleans()),
            visible=draw(st.sampled_from(["prefill", "admission"])),
            offload_tokens=draw(st.sampled_from([0, 640])),
            kv_bytes_per_token=1e5,
        ),
        RouterConfig(policy, view_delay_ms=draw(st.sampled_from([0.0, 0.0, 70.0]))),
        seed=seed,
        drain_limit_s=1e9,
    )
    conserved(same(config, load), load)


def conserved(found: Results, load: Workload) -> None:
    """Every request ends once; tokens and time balance."""
    assert found.finished == load.requests
    assert found.replica_requests.sum() == load.requests
    assert (found.hit_tokens + found.offload_hit_tokens < load.input_tokens).all()
    assert (found.hit_tokens % load.hash_block_tokens == 0).all()
    assert found.replica_hit_tokens.sum() == found.hit_tokens.sum()
    assert (found.replica_busy_s <= found.duration_s + 1e-9).all()
    assert (found.e2e_ms >= found.ttft_ms - 1e-6).all()
    least = (load.output_tokens - 1) * TABLE.decode_ms[0, 0]
    assert (found.e2e_ms - found.ttft_ms >= least - 1e-5).all()
