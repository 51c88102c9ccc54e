"""Carrying out a plan: rounds, servers shared by cells, progress, stop and resume."""

from pipeline.run.lock import run_lock
from pipeline.run.runner import Sink, run_plan

__all__ = ["Sink", "run_lock", "run_plan"]
