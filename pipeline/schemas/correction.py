"""A promoted run that was removed: it stays visible, with the reason."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.schemas.base import Strict


class Correction(Strict):
    """One line of `data/corrections.jsonl`."""

    run_id: str = Field(description="run that was removed")
    profile: str = Field(description="profile it was a run of")
    lane: str = Field(description="its evidence lane")
    started_at: datetime = Field(description="when it had been measured, UTC")
    removed_at: datetime = Field(description="when it was removed, UTC")
    reason: str = Field(description="why, in words of the person who removed it")
