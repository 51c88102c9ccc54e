"""Turn configuration, step table and workload into arrays, run the compiled core, give columns back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.fleet.config import ADMISSIONS, POLICIES, EngineConfig, FleetConfig, refuse
from pipeline.fleet.core import run
from pipeline.fleet.results import Results
from pipeline.fleet.state import FIRST as FIRST_SLOT
from pipeline.fleet.state import (
    FREE,
    HEAD,
    LAST,
    NEWEST,
    NEXT,
    NONE,
    OLDEST,
    OUTSIDE,
    PEAK,
    REPLICA_COLUMNS,
    SLOT_COLUMNS,
    STATIC,
    STEPS,
    TAIL,
    TIER_NEWEST,
    TIER_OLDEST,
    TIER_SPARE,
    UNFINISHED,
    Fleet,
    Load,
    Outcome,
    Router,
    Rules,
    Steps,
)
from pipeline.fleet.state import NEWER as LIST_NEXT
from pipeline.fleet.steps import StepTable
from pipeline.fleet.workload import Workload

DRAIN_LEAST_S = 60.0
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def simulate(config: FleetConfig, table: StepTable, workload: Workload) -> Results:
    """Simulate a fleet serving a workload; the same seed gives the same results.

    Args:
        config: fleet, engine, router.
        table: step times.
        workload: requests.

    Raises:
        InputError: the fleet cannot serve this workload at all (a prompt larger than the pool, a policy that
            needs sessions on a workload without them, hash blocks that KV blocks do not divide).
    """
    check(config, workload)
    rules = _rules(config, workload)
    load = _load(config, workload)
    fleet = _fleet(config, workload, rules)
    router = _router(config, workload, rules)
    out = _outcome(workload.requests)
    ended = run(_steps(table, config.engine), fleet, router, rules, load, out, _breaks(config))
    return _results(config, workload, (fleet, out), ended)


def check(config: FleetConfig, workload: Workload) -> None:
    """Refuse what cannot run, before it does."""
    engine = config.engine
    if workload.hash_block_tokens % engine.block_tokens:
        refuse(
            f"hash blocks of {workload.hash_block_tokens} tokens are no multiple of KV blocks of "
            f"{engine.block_tokens}",
            "workload, hash_block_tokens",
            "choose a multiple",
        )
    longest = int((workload.input_tokens + _reserved(engine, workload)).max(initial=0))
    if _blocks(longest, engine) > _pool(engine):
        refuse(
            f"a request of {longest} tokens does not fit a KV pool of {engine.kv_pool_tokens}",
            "engine, kv_pool_tokens",
            "enlarge the pool or cut the requests",
        )
    _check_router(config, workload)


def _check_router(config: FleetConfig, workload: Workload) -> None:
    router = config.router
    hashed = router.policy in ("consistent_hash", "bounded_hash")
    by_session = router.policy == "sticky_least_loaded" or (hashed and router.hash_key == "session")
    if by_session and not (workload.session >= 0).any():
        refuse(
            f"{router.policy} needs sessions, the workload has none",
            "router",
            "use a workload of sessions, or hash_key group or prefix",
        )
    if hashed and router.hash_key == "group" and not (workload.group >= 0).any():
        refuse(f"{router.policy} needs groups, the workload has none", "router", "use zipf_prefixes")
    sites = 1 if config.regions is None else len(config.regions.names)
    if int(workload.region.max(initial=0)) >= sites:
        refuse("requests come from a region that the fleet does not name", "regions", "name all regions")


def _reserved(engine: EngineConfig, workload: Workload) -> Any:
    return workload.output_tokens if engine.admission != "no_evict" else workload.max_output_tokens


def _blocks(tokens: int, engine: EngineConfig) -> int:
    return -(-tokens // engine.block_tokens)


def _pool(engine: EngineConfig) -> int:
    return engine.kv_pool_tokens // engine.block_tokens


def _rules(config: FleetConfig, workload: Workload) -> Rules:
    engine, router = config.engine, config.router
    longest = int((workload.input_tokens + workload.max_output_tokens).max(initial=1))
    static = ADMISSIONS.index(engine.admission) == STATIC
    seats = engine.max_num_seqs
    reserved = _blocks(engine.max_model_len_tokens or longest, engine)
    if static:
        seats = max(1, min(seats, _pool(engine) // reserved))
    return Rules(
        replicas=config.replicas,
        pool=_pool(engine),
        block=engine.block_tokens,
        units=workload.hash_block_tokens // engine.block_tokens,
        hash_block=workload.hash_block_tokens,
        seats=seats,
        budget=engine.max_num_batched_tokens,
        admission=ADMISSIONS.index(engine.admission),
        caching=int(engine.prefix_caching and not static and workload.block_count > 0),
        at_admission=int(engine.visible == "admission"),
        outputs=int(engine.cache_outputs),
        queue_most=NONE if engine.max_queued is None else engine.max_queued,
        static_blocks=reserved,
        tier_room=engine.offload_tokens // workload.hash_block_tokens,
        tier_token_s=engine.kv_bytes_per_token / (engine.offload_gb_s * 1e9),
        policy=POLICIES.index(router.policy),
        inner=POLICIES.index(router.inner),
        indexed=int(router.indexed and workload.block_count > 0),
        watched=int(not {"kv_usage", "kv_router"}.isdisjoint((router.policy, router.inner))),
        delay_s=router.view_delay_ms / 1000,
        counts_own=int(router.view_counts_own),
        weight=float(router.load_weight_tokens),
        threshold=float(router.cache_threshold),
        abs_threshold=float(router.balance_abs_threshold),
        rel_threshold=float(router.balance_rel_threshold),
        factor=float(router.bounded_load_factor),
        credit=float(router.overlap_credit),
        spill=float(router.spill_outstanding),
        stop_s=_stop(config, workload),
    )


def _stop(config: FleetConfig, workload: Workload) -> float:
    """When the run is cut: closed loops come to their end by themselves."""
    if (workload.after >= 0).any() and config.drain_limit_s is None:
        return math.inf
    last = float(np.nanmax(workload.arrival_s)) if workload.requests else 0.0
    return last + (max(DRAIN_LEAST_S, last) if config.drain_limit_s is None else config.drain_limit_s)


def _load(config: FleetConfig, workload: Workload) -> Load:
    follower = np.full(workload.requests, NONE, np.int32)
    after = np.flatnonzero(workload.after >= 0)
    follower[workload.after[after]] = after
    dice = np.random.default_rng(config.seed).integers(0, 1 << 62, workload.requests, dtype=np.int64)
    key = _keys(config, workload)
    chain = workload.chain_ids if len(workload.chain_ids) else np.zeros(1, np.int32)
    return Load(
        arrival=workload.arrival_s,
        tokens_in=workload.input_tokens,
        tokens_out=workload.output_tokens,
        tokens_most=workload.max_output_tokens,
        chain_at=workload.chain_start,
        chain_blocks=workload.chain_blocks,
        chain=chain,
        region=workload.region,
        key=key,
        session=workload.session,
        follower=follower,
        think=workload.think_s,
        point=_points_of(config, key),
        dice=dice,
    )


def _keys(config: FleetConfig, workload: Workload) -> Any:
    """What the hash policies hash: a request without such a key stands for itself."""
    own = np.arange(workload.requests, dtype=np.int64) + (1 << 40)
    if config.router.hash_key == "session":
        known = workload.session.astype(np.int64)
    elif config.router.hash_key == "group":
        known = workload.group.astype(np.int64)
    else:
        known = np.full(workload.requests, NONE, np.int64)
        chained = workload.chain_blocks > 0
        known[chained] = workload.chain_ids[workload.chain_start[chained]]
    return np.where(known >= 0, known, own)


def _mixed(values: Any) -> Any:
    """SplitMix64 (Steele, Lea, Flood 2014): spreads whole numbers over 64 bits."""
    with np.errstate(over="ignore"):
        z = values.astype(np.uint64) * _GOLDEN + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _ring(config: FleetConfig) -> tuple[Any, Any]:
    """Points of the hash ring, sorted, and the replica of each."""
    nodes = config.router.virtual_nodes
    points = _mixed(np.arange(config.replicas * nodes, dtype=np.uint64) + np.uint64(1 << 50))
    order = np.argsort(points, kind="stable")
    return points[order], (order // nodes).astype(np.int32)


def _points_of(config: FleetConfig, keys: Any) -> Any:
    if config.router.policy not in ("consistent_hash", "bounded_hash"):
        return np.zeros(len(keys), np.int32)
    points, _ = _ring(config)
    at = np.searchsorted(points, _mixed(keys))
    return np.where(at == len(points), 0, at).astype(np.int32)


def _steps(table: StepTable, engine: EngineConfig) -> Steps:
    batches = np.asarray(table.batches, np.float64)
    whole = np.arange(engine.max_num_seqs + 1, dtype=np.float64)
    low = np.clip(np.searchsorted(batches, whole, side="right") - 1, 0, len(batches) - 1)
    high = np.minimum(low + 1, len(batches) - 1)
    width = np.where(high > low, batches[high] - batches[low], 1.0)
    part = np.clip(np.where(high > low, (whole - batches[low]) / width, 0.0), 0.0, 1.0)
    return Steps(
        batches=batches,
        contexts=np.asarray(table.contexts, np.float64),
        low=low.astype(np.int64),
        part=part,
        ms=np.ascontiguousarray(table.decode_ms, np.float64),
        base_ms=float(table.prefill_base_ms),
        token_ms=float(table.prefill_ms_per_token),
        token_kctx_ms=float(table.prefill_ms_per_token_kctx),
    )


def _tables(replicas: int, entries: int) -> tuple[Any, Any, Any]:
    """Hash table and entries of a cache; unused entries are chained."""
    size = max(8, 1 << math.ceil(math.log2(2 * entries + 1)))
    keys = np.full((replicas, size), NONE, np.int32)
    entry = np.zeros((replicas, entries, 4), np.int32)
    entry[:, :, LIST_NEXT] = np.append(np.arange(1, entries), NONE)
    return keys, np.zeros_like(keys), entry


def _fleet(config: FleetConfig, workload: Workload, rules: Rules) -> Fleet:
    replicas, seats = config.replicas, rules.seats
    entries = max(1, min(rules.pool // rules.units, workload.block_count)) if rules.caching else 1
    keys, values, entry = _tables(replicas, entries)
    tier_keys, tier_values, tier = _tables(replicas, max(1, rules.tier_room))
    row = np.zeros((replicas, REPLICA_COLUMNS), np.int64)
    row[:, FREE] = rules.pool
    for column in (HEAD, TAIL, FIRST_SLOT, LAST, OLDEST, NEWEST, TIER_OLDEST, TIER_NEWEST):
        row[:, column] = NONE
    if not rules.tier_room:
        row[:, TIER_SPARE] = NONE
    slot = np.zeros((replicas, seats, SLOT_COLUMNS), np.int64)
    slot[:, :, NEXT] = np.append(np.arange(1, seats), NONE)
    chain = max(1, int(workload.chain_blocks.max(initial=1))) if rules.caching else 1
    ring = 1 << math.ceil(math.log2(int(workload.output_tokens.max(initial=1)) + 2))
    leaves = max(2, 1 << math.ceil(math.log2(replicas)))
    followers = max(1, int((workload.after >= 0).sum()))
    return Fleet(
        replica=row,
        busy=np.zeros(replicas),
        pace=np.zeros((replicas, 3)),
        slot=slot,
        hold=np.full((replicas, seats, chain), NONE, np.int32),
        phase=np.zeros((replicas, rules.block), np.int32),
        ring=np.full((replicas, ring), NONE, np.int32),
        tree=np.full(2 * leaves, np.inf),
        waiting=np.full(workload.requests, NONE, np.int32),
        made=np.zeros(workload.requests, np.int32),
        keys=keys,
        values=values,
        entry=entry,
        tier_keys=tier_keys,
        tier_values=tier_values,
        tier=tier,
        future=np.full(followers, np.inf),
        future_of=np.full(followers, NONE, np.int32),
        scratch=np.zeros(2 * seats, np.int64),
        lost=np.zeros(workload.requests if config.failures else 1, np.int64),
    )


def _router(config: FleetConfig, workload: Workload, rules: Rules) -> Router:
    replicas = config.replicas
    sites = config.regions.replicas if config.regions else (replicas,)
    home = np.repeat(np.arange(len(sites), dtype=np.int32), sites)
    members = np.zeros((len(sites) + 1, replicas), np.int32)
    for region in range(len(sites)):
        members[region, : sites[region]] = np.flatnonzero(home == region)
    members[-1] = np.arange(replicas)
    rtt = config.regions.rtt_ms if config.regions else np.zeros((1, 1))
    blocks = workload.block_count if rules.indexed else 1
    hashed = config.router.policy in ("consistent_hash", "bounded_hash")
    return Router(
        load=np.zeros(replicas, np.int64),
        seen_load=np.zeros(replicas, np.int64),
        used=np.zeros(replicas, np.int64),
        routed=np.zeros(replicas, np.int64),
        pending=np.zeros(replicas, np.int64),
        alive=np.ones(replicas, np.uint8),
        members=members,
        size=np.array([*sites, replicas], np.int64),
        home_region=home,
        nearest=np.argsort(np.asarray(rtt), axis=1, kind="stable").astype(np.int32),
        points=_ring(config)[1] if hashed else np.zeros(1, np.int32),
        seen=np.zeros((blocks, -(-replicas // 64)), np.int64),
        home=np.full(int(workload.session.max(initial=0)) + 1, NONE, np.int32),
        overlap=np.zeros(64 * -(-replicas // 64), np.int64),
        counter=np.zeros(len(sites) + 1, np.int64),
        refreshed=np.zeros(1),
    )


def _outcome(requests: int) -> Outcome:
    return Outcome(
        status=np.full(requests, UNFINISHED, np.int8),
        replica=np.full(requests, NONE, np.int32),
        arrived=np.full(requests, np.nan),
        first=np.full(requests, np.nan),
        ended=np.full(requests, np.nan),
        hit=np.full(requests, NONE, np.int32),
        tier_hit=np.zeros(requests, np.int32),
        preempted=np.zeros(requests, np.int32),
        backlog=np.zeros(2, np.int64),
        events=np.zeros(2, np.int64),
    )


def _breaks(config: FleetConfig) -> Any:
    """Failures and recoveries by time; at one time failures first."""
    changes = [(one.at_s, one.replica, 0) for one in config.failures]
    changes += [(one.until_s, one.replica, 1) for one in config.failures]
    ordered = sorted(changes, key=lambda change: (change[0], change[2], change[1]))
    return np.array(ordered, np.float64).reshape(-1, 3)


def _results(config: FleetConfig, workload: Workload, made: tuple[Fleet, Outcome], ended: float) -> Results:
    fleet, out = made
    served = out.replica >= 0
    network = np.zeros(workload.requests)
    if config.regions is not None:
        home = np.repeat(np.arange(len(config.regions.names)), config.regions.replicas)
        rtt = np.asarray(config.regions.rtt_ms)
        network[served] = rtt[workload.region[served], home[out.replica[served]]]
    first_ms, whole_ms = (out.first - out.arrived) * 1000, (out.ended - out.arrived) * 1000
    finished = out.status == 0
    more = finished & (workload.output_tokens > 1)
    tpot = np.full(workload.requests, np.nan)
    tpot[more] = (whole_ms - first_ms)[more] / (workload.output_tokens[more] - 1)
    hits = np.maximum(out.hit, 0)
    begun = float(np.nanmin(out.arrived)) if np.isfinite(out.arrived).any() else 0.0
    return Results(
        status=out.status,
        arrival_s=out.arrived,
        ttft_ms=first_ms + network,
        e2e_ms=np.where(finished, whole_ms + network, np.nan),
        tpot_ms=tpot,
        input_tokens=workload.input_tokens,
        output_tokens=workload.output_tokens,
        hit_tokens=out.hit,
        offload_hit_tokens=out.tier_hit,
        preemptions=out.preempted,
        replica=out.replica,
        region=workload.region,
        regions=config.regions,
        replica_requests=np.bincount(out.replica[served], minlength=config.replicas),
        replica_busy_s=fleet.busy,
        replica_hit_tokens=np.bincount(
            out.replica[served], weights=hits[served], minlength=config.replicas
        ).astype(np.int64),
        replica_peak_kv_blocks=fleet.replica[:, PEAK].copy(),
        duration_s=ended - begun,
        steps=int(fleet.replica[:, STEPS].sum()),
        steps_outside_table=int(fleet.replica[:, OUTSIDE].sum()),
        events=int(out.events[0]),
        backlog=(int(out.backlog[0]), int(out.backlog[1])),
    )
