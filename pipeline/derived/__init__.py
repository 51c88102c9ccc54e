"""Arithmetic with sources: what fits, the least time, the least cost."""
