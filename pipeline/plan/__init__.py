"""A profile becomes cells in order: reads the TOML files, measures nothing."""

from pipeline.plan.expand import expand
from pipeline.plan.files import (
    experiment_names,
    load_any_profile,
    load_experiment,
    load_profile,
    profile_names,
)
from pipeline.plan.order import plan

__all__ = [
    "expand",
    "experiment_names",
    "load_any_profile",
    "load_experiment",
    "load_profile",
    "plan",
    "profile_names",
]
