"""Data files and their integrity, and read-only views over them; no verdicts."""
