"""State of a running simulation: a few arrays with named columns, so that one event touches few lines.

Times are seconds, lengths tokens, memory KV blocks of `block` tokens; one hash block is `units` KV blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Columns of `replica`.
FREE, DECODING, RUNNING, CONTEXT, HEAD, TAIL, WAITING, SPARE = range(8)
FIRST, LAST, STEP, PREFILLING, IDLE, OLDEST, NEWEST, ENTRY_SPARE = range(8, 16)
PEAK, STEPS, OUTSIDE, PREEMPTED, ORDER, TIER_OLDEST, TIER_NEWEST, TIER_SPARE = range(16, 24)
PLANNED, BEYOND = range(24, 26)
REPLICA_COLUMNS = 32

# Columns of `slot`, one running request.
REQUEST, MADE, DONE, TARGET, HELD, PREV, NEXT, BEGAN = range(8)
BASE, PHASE, FINISH, BEFORE, AFTER, CHUNK, OWNED, SEQ = range(8, 16)
SLOT_COLUMNS = 16

# Columns of `entry` and `tier`, one cached hash block.
BLOCK, USERS, OLDER, NEWER = range(4)

# Outcome of a request.
FINISHED, REJECTED, DROPPED, UNFINISHED = range(4)

# Admission rules, in the order of `FleetAdmission`.
RECOMPUTE, NO_EVICT, MAX_UTILIZATION, STATIC = range(4)

# Policies, in the order of `FleetPolicy`.
(
    ROUND_ROBIN,
    RANDOM,
    POWER_OF_TWO,
    LEAST_OUTSTANDING,
    CONSISTENT_HASH,
    BOUNDED_HASH,
    STICKY,
    CACHE_AWARE,
    KV_ROUTER,
    PREFIX_AWARE,
    PREFIX_ONLY,
    KV_USAGE,
    HIERARCHICAL,
) = range(13)

NONE = -1


class Load(NamedTuple):
    """The requests, one entry each; ready is NaN until a follower's predecessor ends."""

    arrival: Any  # float64
    tokens_in: Any  # int32
    tokens_out: Any  # int32
    tokens_most: Any  # int32, output that is reserved
    chain_at: Any  # int64, first hash block in `chain`
    chain_blocks: Any  # int32
    chain: Any  # int32
    region: Any  # int32
    key: Any  # int32, what the hash policies hash
    session: Any  # int32, dense session number or -1
    follower: Any  # int32, request that this one's end sets off, -1 none
    think: Any  # float64
    point: Any  # int32, place on the hash ring
    dice: Any  # int64, 62 random bits


class Steps(NamedTuple):
    """The step table: decode time by batch and context, prefill by token."""

    batches: Any  # float64
    contexts: Any  # float64
    low: Any  # int32[seats + 1]: row below each whole batch
    part: Any  # float64[seats + 1]: way to the next row
    ms: Any  # float64[batches, contexts]
    base_ms: float
    token_ms: float
    token_kctx_ms: float


class Rules(NamedTuple):
    """What stays as it was configured."""

    replicas: int
    pool: int
    block: int
    units: int
    hash_block: int
    seats: int
    budget: int
    admission: int
    caching: int
    at_admission: int
    outputs: int
    queue_most: int
    static_blocks: int
    tier_room: int
    tier_token_s: float
    policy: int
    inner: int
    indexed: int
    watched: int  # the router reads KV usage
    delay_s: float
    counts_own: int
    weight: float
    threshold: float
    abs_threshold: float
    rel_threshold: float
    factor: float
    credit: float
    spill: float
    stop_s: float


class Fleet(NamedTuple):
    """All that changes while time goes on."""

    replica: Any  # int64[replicas, 32]
    busy: Any  # float64[replicas]: seconds in steps
    pace: Any  # float64[replicas, 3]: seconds: begin of the plan, its first step, what each further one adds
    slot: Any  # int64[replicas, seats, 16]
    hold: Any  # int32[replicas, seats, longest chain]: entries a request holds
    phase: Any  # int32[replicas, block]: decoding requests that need a block in that step
    ring: Any  # int32[replicas, ring]: first slot that finishes in that step
    tree: Any  # float64[2 * leaves]: earliest end of a step
    waiting: Any  # int32[requests]: next in the queue
    made: Any  # int32[requests]: tokens made before a preemption
    keys: Any  # int32[replicas, table]: hash block, -1 empty
    values: Any  # int32[replicas, table]: its entry
    entry: Any  # int32[replicas, entries, 4]
    tier_keys: Any
    tier_values: Any
    tier: Any
    future: Any  # float64[followers]: heap of arrivals to come
    future_of: Any  # int32[followers]
    scratch: Any  # int64[seats]
    lost: Any  # int64[requests or 1]: those of a replica that fails


class Router(NamedTuple):
    """What the router knows."""

    load: Any  # int64[replicas]: requests sent and not ended
    seen_load: Any  # int64[replicas]: the same as the router last saw it
    used: Any  # int64[replicas]: KV blocks in use as the router last saw them
    routed: Any  # int64[replicas]: hash blocks sent there, the size of its tree
    pending: Any  # int64[replicas]: prompt tokens sent and not yet prefilled
    alive: Any  # uint8[replicas]
    members: Any  # int32[regions, replicas]: replicas of a region, alive first
    size: Any  # int64[regions]: how many of them are alive
    home_region: Any  # int32[replicas]
    nearest: Any  # int32[regions, regions]
    points: Any  # int32[ring]: replica of each point of the hash ring
    seen: Any  # int64[blocks, words]: replicas that hold a hash block
    home: Any  # int32[sessions]
    overlap: Any  # int64[replicas]: hash blocks matched, scratch
    counter: Any  # int64[4]: round robin by region, total load, next refresh number, arrivals done
    refreshed: Any  # float64[1]


class Outcome(NamedTuple):
    """What is recorded, one entry a request."""

    status: Any  # int8
    replica: Any  # int32
    arrived: Any  # float64
    first: Any  # float64, seconds, NaN without a token
    ended: Any  # float64
    hit: Any  # int32, -1 until admitted
    tier_hit: Any  # int32
    preempted: Any  # int32
    backlog: Any  # int64[3]: requests in the system at a half, at the last arrival, most
    events: Any  # int64[2]: events, arrivals
