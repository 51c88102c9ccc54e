"""Environments of the measured tools: pinned by hash, kept in the user's cache, shared by clones."""

from pipeline.environments.catalogue import BY_DEFAULT, CATALOGUE, Spec, spec
from pipeline.environments.installed import Environment, environment, folder
from pipeline.environments.machine import platform_can
from pipeline.environments.setup import set_up, set_up_all

__all__ = [
    "BY_DEFAULT",
    "CATALOGUE",
    "Environment",
    "Spec",
    "environment",
    "folder",
    "platform_can",
    "set_up",
    "set_up_all",
    "spec",
]
