"""Routers as processes of their own, in front of the engines."""

from pipeline.routers.vllm_router import RouterDecisions, VllmRouter

__all__ = ["RouterDecisions", "VllmRouter"]
