"""Fleet routing simulator: hundreds of replicas behind a router, from a table of step times.

    results = simulate(FleetConfig(64, EngineConfig(200_000), RouterConfig("power_of_two")), table, workload)

Workloads are columns (`open_loop`, `zipf_prefixes`, `sessions`, `mooncake`, `azure`), step times an argument
(`StepTable`). How it works and what it was held against: docs/simulator.md.
"""

from pipeline.fleet.arrivals import diurnal, gamma, poisson
from pipeline.fleet.builders import open_loop, sessions, zipf_prefixes
from pipeline.fleet.config import ADMISSIONS, POLICIES, EngineConfig, Failure, FleetConfig, RouterConfig
from pipeline.fleet.regions import Regions, cloud_regions
from pipeline.fleet.results import Results
from pipeline.fleet.simulate import simulate
from pipeline.fleet.steps import StepTable
from pipeline.fleet.traces import azure, mooncake, trace_path
from pipeline.fleet.workload import Workload

__all__ = [
    "ADMISSIONS",
    "POLICIES",
    "EngineConfig",
    "Failure",
    "FleetConfig",
    "Regions",
    "Results",
    "RouterConfig",
    "StepTable",
    "Workload",
    "azure",
    "cloud_regions",
    "diurnal",
    "gamma",
    "mooncake",
    "open_loop",
    "poisson",
    "sessions",
    "simulate",
    "trace_path",
    "zipf_prefixes",
]
