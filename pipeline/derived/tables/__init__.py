"""The derived lane's tables, each a function from the catalogue to rows."""

from pipeline.derived.tables.all import compute_tables

__all__ = ["compute_tables"]
