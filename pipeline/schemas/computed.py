"""What a computed lane leaves behind: its tables, and what they were computed from."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.schemas.base import Authored, Strict
from pipeline.schemas.words import Lane

COMPUTED_LANES: tuple[Lane, ...] = ("published", "modelled", "derived", "simulated")


class ComputedProfile(Authored):
    """One TOML file in `pipeline/profiles` that computes a lane instead of measuring one."""

    name: str = Field(description="file name without .toml")
    title: str = Field(description="what it is for, in a few words")
    computes: Lane = Field(description="lane that is computed")
    expected_s: float = Field(gt=0, description="time on two cores, inputs changed")


class TableFile(Strict):
    """One table of a computed lane on disk."""

    file: str = Field(description="file name in the lane's folder")
    rows: int = Field(description="number of rows")
    sha256: str = Field(description="hash of the file")


class ComputedManifest(Strict):
    """`data/computed/LANE/manifest.json`."""

    schema_version: int = Field(description="version of this manifest's schema")
    lane: Lane = Field(description="lane that was computed")
    inputs: dict[str, str] = Field(description="what went in: name to hash or version")
    inputs_sha256: str = Field(description="hash of all inputs; names the files")
    computed_at: datetime = Field(description="when the tables were computed, UTC")
    duration_s: float = Field(description="how long that took, seconds")
    command: str = Field(description="command that computes them again")
    versions: dict[str, str] = Field(description="packages that computed them: name to version")
    tables: dict[str, TableFile] = Field(description="table name to its file")

    @property
    def versions_text(self) -> str | None:
        """`aiconfigurator 0.9.0, numpy 2.4.0`; None where none are recorded."""
        return ", ".join(f"{name} {version}" for name, version in sorted(self.versions.items())) or None
