"""Freshness limits, one file for all lanes: `data/freshness.toml`."""

from __future__ import annotations

import tomllib
from datetime import date

from pydantic import Field, ValidationError

from pipeline.errors import DataError
from pipeline.paths import Workspace
from pipeline.schemas.base import Authored
from pipeline.schemas.words import Freshness, Lane


class FreshnessLimits(Authored):
    """Days after which a lane's rows are stale; a lane without a limit stands while its inputs stand."""

    limits_days: dict[Lane, int] = Field(description="lane to days")


def load_limits(ws: Workspace) -> FreshnessLimits:
    """The limits.

    Raises:
        DataError: the file is missing or wrong.
    """
    path = ws.data / "freshness.toml"
    try:
        return FreshnessLimits.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValidationError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"freshness limits cannot be read: {error}", where=str(path)) from error


def freshness(limits: FreshnessLimits, lane: Lane, measured_on: date, today: date) -> Freshness:
    """Whether rows of that day still count as current; the last day of the limit does."""
    limit = limits.limits_days.get(lane)
    return "stale" if limit is not None and (today - measured_on).days > limit else "current"
