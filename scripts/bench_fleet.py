"""How fast the fleet simulator is, on one core, after compilation.

Usage: python scripts/bench_fleet.py [--json] [--quick] [--other PYTHON]

PYTHON is an interpreter that has vllm-sr-sim (pip install --pre vllm-sr-sim, in an environment of its own);
it then simulates the same load beside. Every case runs in a process of its own, so that memory is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import time
from collections.abc import Callable
from typing import Any

from pipeline.fleet import (
    POLICIES,
    EngineConfig,
    FleetConfig,
    RouterConfig,
    StepTable,
    Workload,
    cloud_regions,
    mooncake,
    open_loop,
    poisson,
    sessions,
    simulate,
    trace_path,
    zipf_prefixes,
)
from pipeline.schemas.words import FleetPolicy

TABLE = StepTable.from_roofline(15, 128, 8, 3350, 989, source="roofline, 8B model on an H100")
BLIS_REQUESTS_S = 5000
"""The first case by the nearest step-level simulator (inference-sim f90a1e3), two cores, November 2026."""
BY_SESSION = ("consistent_hash", "bounded_hash", "sticky_least_loaded")
OTHER = """
import random, sys, time
from fleet_sim.core.fleet import Fleet, FleetConfig, PoolConfig
from fleet_sim.core.request import Request
from fleet_sim.gpu_profiles.profiles import H100_80GB
requests, rate, draw, now = int(sys.argv[1]), float(sys.argv[2]), random.Random(1), 0.0
arrivals = []
for number in range(requests):
    now += draw.expovariate(rate)
    arrivals.append((now, Request(number, now, 512, 128)))
pool = PoolConfig("all", H100_80GB, 64, 8192, lb_strategy="round_robin")
fleet = Fleet(FleetConfig([pool], "RandomRouter"))
begun = time.perf_counter()
fleet.run(arrivals)
print(time.perf_counter() - begun)
"""

Result = dict[str, Any]


def timed(config: FleetConfig, load: Workload) -> Result:
    """Wall and processor time of one simulation, and its size."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = simulate(config, TABLE, load)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "requests": load.requests,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "requests_per_cpu_s": round(load.requests / cpu),
        "us_per_request": round(cpu / load.requests * 1e6, 3),
        "events": found.events,
        "hit_rate": found.hit_rate,
        "unstable": found.unstable,
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def fleet(replicas: int, policy: FleetPolicy, pool_tokens: int = 400_000) -> FleetConfig:
    """Equal replicas behind one policy."""
    if policy == "hierarchical":
        half = replicas // 2
        regions = cloud_regions(["virginia", "dublin"], [half, replicas - half])
        return FleetConfig(replicas, EngineConfig(pool_tokens), RouterConfig(policy), regions=regions)
    return FleetConfig(replicas, EngineConfig(pool_tokens), RouterConfig(policy))


def warm() -> None:
    """Have the machine code on disk, so that no case pays for it."""
    simulate(fleet(2, "power_of_two"), TABLE, open_loop(poisson(10, requests=50), 100, 10))


def plain(requests: int, policy: FleetPolicy = "round_robin") -> Result:
    """64 replicas, 640 requests/s, 512 in and 128 out, nothing shared."""
    warm()
    return timed(fleet(64, policy), open_loop(poisson(640, requests=requests), 512, 128))


def large(policy: FleetPolicy, seconds: float) -> Result:
    """512 replicas, 10,000 requests/s, Zipf prefixes of 1,024 tokens; building them is counted apart."""
    warm()
    begun = time.perf_counter()
    load = zipf_prefixes(
        poisson(10_000, seconds),
        groups=20_000,
        prefix_tokens=1024,
        private_tokens=200,
        output_tokens=150,
        skew=1.0,
        private_blocks=False,
    )
    built = time.perf_counter() - begun
    return timed(fleet(512, policy, 100_000), load) | {"build_s": round(built, 2)}


def conversation(policy: FleetPolicy) -> Result:
    """One hour of the Mooncake conversation trace on 16 replicas of 960,000 tokens."""
    warm()
    load = mooncake(trace_path("mooncake-conversation"))
    return timed(fleet(16, policy, 960_000), load)


def scaled(replicas: int, policy: FleetPolicy) -> Result:
    """Ten requests a second and replica, whatever the number of replicas."""
    warm()
    number = 100 * replicas
    if policy in BY_SESSION:
        load = sessions(
            sessions=number // 4,
            turns=4,
            first_tokens=512,
            turn_tokens=64,
            output_tokens=128,
            think_s=5.0,
            start_rate_per_s=2.5 * replicas,
        )
    else:
        load = zipf_prefixes(
            poisson(10.0 * replicas, requests=number),
            groups=10 * replicas,
            prefix_tokens=512,
            private_tokens=128,
            output_tokens=128,
            skew=1.0,
            region=[at % 2 for at in range(number)],
        )
    timed(fleet(replicas, policy), load)
    return timed(fleet(replicas, policy), load)


def alone(case: Callable[..., Result], *given: Any) -> Result:
    """Run a case in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(case, given)


def beside(python: str | None, requests: int) -> Result | None:
    """The first case by vllm-sr-sim: requests, not steps, are its events."""
    if python is None:
        return None
    done = subprocess.run(
        [python, "-c", OTHER, str(requests), "640"], capture_output=True, text=True, check=True
    )
    seconds = float(done.stdout.split()[-1])
    return {"requests": requests, "wall_s": round(seconds, 3), "requests_per_s": round(requests / seconds)}


def main() -> None:
    """Run every case and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--quick", action="store_true", help="a tenth of the large cases, two sizes of fleet")
    parser.add_argument("--other", help="python of an environment with vllm-sr-sim")
    options = parser.parse_args()
    found = figures(
        options.quick, options.other, lambda line: None if options.json else print(line, flush=True)
    )
    if options.json:
        print(json.dumps(found, indent=1))


def figures(quick: bool, other: str | None, say: Callable[[str], None]) -> dict[str, Any]:
    """All cases by name."""
    found: dict[str, Any] = {}

    def note(name: str, value: Any) -> None:
        found[name] = value
        say(f"{name}: {value}")

    note("plain_64_replicas", alone(plain, 200_000))
    note("vllm_sr_sim_64_replicas", beside(other, 20_000))
    ours = found["plain_64_replicas"]["requests_per_cpu_s"]
    theirs = found["vllm_sr_sim_64_replicas"]
    note("ratio_to_vllm_sr_sim", round(ours / theirs["requests_per_s"], 1) if theirs else None)
    note("ratio_to_recorded_step_level", round(ours / BLIS_REQUESTS_S, 1))
    for policy in ("power_of_two", "prefix_aware"):
        note(f"large_512_replicas_{policy}", alone(large, policy, 60.0 if quick else 600.0))
    for policy in POLICIES:
        if policy != "hierarchical":
            note(f"conversation_16_replicas_{policy}", alone(conversation, policy))
    sizes = (64, 1024) if quick else (64, 128, 256, 512, 1024)
    for policy in POLICIES:
        curve = {size: alone(scaled, size, policy)["us_per_request"] for size in sizes}
        note(f"us_per_request_{policy}", curve | {"growth": round(curve[sizes[-1]] / curve[sizes[0]], 2)})
    return found


if __name__ == "__main__":
    main()
