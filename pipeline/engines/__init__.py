"""Serving engines as processes of their own: model folders, start, probe, counters, stop."""

from pipeline.engines.server import Server, ServerSpec
from pipeline.engines.vllm import VllmServer

__all__ = ["Server", "ServerSpec", "VllmServer"]
