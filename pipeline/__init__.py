"""Weighbridge: plan, run, store, analyse and render measurements of LLM serving."""

__version__ = "0.1.0"
