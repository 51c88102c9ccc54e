"""Requests made deterministically, and AIPerf that sends them."""

from pipeline.load.aiperf import LoadResult, SentRequest, run_aiperf
from pipeline.load.workload import Prompt, make_prompts, prompts_jsonl

__all__ = ["LoadResult", "Prompt", "SentRequest", "make_prompts", "prompts_jsonl", "run_aiperf"]
