"""What a check found: file, line, message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import CheckFailed


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong on a page.

    Args:
        file: path as the reader knows it, relative to the checkout where possible.
        line: line in the file, from 1.
        message: what is wrong and, where known, what would be right.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Message for a name that does not exist: the nearest name first, then all known ones."""
    names = sorted(known)
    return f"unknown {kind} {name!r}{nearest(name, names)} (known: {', '.join(names) or 'none'})"


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'memory'?`, empty where nothing is near."""
    close = difflib.get_close_matches(name, sorted(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def shown(path: Path, root: Path) -> str:
    """The path relative to the checkout, or as it is outside of it."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def fail(problems: Sequence[Problem]) -> None:
    """Raise CheckFailed with all problems, sorted by file and line; return if there are none."""
    if not problems:
        return
    lines = "\n".join(f"  {problem}" for problem in sorted(set(problems)))
    count = f"{len(set(problems))} problem{'s' if len(set(problems)) > 1 else ''}"
    raise CheckFailed(f"{count} found:\n{lines}", next_step="correct the lines named above, then check again")
