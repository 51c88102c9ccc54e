"""Child processes in groups of their own, their ports, and the lock that keeps runs apart."""

from pipeline.process.group import ProcessGroup, child_environment, stop_leftovers
from pipeline.process.ports import free_ports

__all__ = ["ProcessGroup", "child_environment", "free_ports", "stop_leftovers"]
