"""Names that a page may call."""

from __future__ import annotations

PAGE_MACROS = [
    "verdict",
    "fact",
    "calc",
    "worked",
    "chart",
    "table",
    "contrast",
    "evidence",
    "thresholds",
    "related_pages",
    "ledger",
    "question_index",
    "headlines",
    "pulse",
    "runs",
    "freshness",
    "corrections",
    "history",
    "moved",
    "formulas",
    "arithmetic_list",
    "log_check",
    "dictionary",
    "downloads",
    "tree",
    "interview",
    "quiz",
    "numbers",
    "picture",
    "deck",
    "rubrics",
]
"""Macros that need the page or the data."""
PLAIN_MACROS = ["given", "quoted"]
BLOCKS = ["say", "ask_first", "board"]
MACROS = [*PAGE_MACROS, *PLAIN_MACROS, *BLOCKS]
