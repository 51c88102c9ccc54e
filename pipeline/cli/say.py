"""Progress lines."""

from __future__ import annotations

import sys
from datetime import datetime


def say(line: str) -> None:
    """Progress goes to stderr, with the time of day."""
    print(f"{datetime.now().astimezone():%H:%M:%S} {line}", file=sys.stderr, flush=True)
