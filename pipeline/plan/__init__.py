"""A profile becomes cells in order: reads the TOML files, measures nothing."""

from pipeline.plan.expand import expand
from pipeline.plan.files import (
    experiment_names,
    load_any_profile,
    load_experiment,
    load_profile,
    profile_names,
)
from pipeline.plan.nights import Night, Unit, plan_night
from pipeline.plan.order import Machine, plan, this_machine

__all__ = [
    "Machine",
    "Night",
    "Unit",
    "expand",
    "experiment_names",
    "load_any_profile",
    "load_experiment",
    "load_profile",
    "plan",
    "plan_night",
    "profile_names",
    "this_machine",
]
