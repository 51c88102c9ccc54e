"""All that pages can ask for, read once a build: query rows, runs, verdicts, history, freshness limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from pipeline.schemas.computed import ComputedManifest
from pipeline.schemas.correction import Correction
from pipeline.schemas.launch import Launch
from pipeline.schemas.manifest import Manifest
from pipeline.schemas.words import Lane
from pipeline.site.basis import of_computed, of_run
from pipeline.site.claims import Standing
from pipeline.site.facts import Rows


@dataclass(frozen=True)
class Change:
    """A verdict that changed at a promotion."""

    claim: str
    before: str | None
    after: str
    on: date
    cause: str


@dataclass(frozen=True)
class Kept:
    """A finished run and where it lies: promoted, local or quarantined."""

    place: str
    manifest: Manifest
    reason: str | None = None
    launches: tuple[Launch, ...] = ()


@dataclass(frozen=True)
class SiteData:
    """What the store and the verdict engine give.

    Args:
        rows: runs a query over the views.
        kept: finished runs, oldest first.
        claims: standings by claim id, in ledger order.
        changes: history of verdicts, oldest first.
        limits: days after which a lane's data are stale; None where data stand while their inputs do.
        corrections: promoted runs that were removed.
        today: day of the build.
        columns: (view, column, type, description) of all views.
        computed: manifests of the computed lanes that were computed.
    """

    rows: Rows
    kept: Sequence[Kept]
    claims: Mapping[str, Standing]
    changes: Sequence[Change]
    limits: Mapping[Lane, int | None]
    corrections: Sequence[Correction]
    today: date
    columns: Sequence[tuple[str, str, str, str]] = field(default=())
    computed: Mapping[Lane, ComputedManifest] = field(default_factory=dict)

    @property
    def runs(self) -> dict[str, Manifest]:
        """Promoted runs by id."""
        return {each.manifest.run_id: each.manifest for each in self.kept if each.place == "promoted"}

    @property
    def local(self) -> Manifest | None:
        """Newest run of this machine that is not promoted."""
        mine = [each.manifest for each in self.kept if each.place == "local"]
        return max(mine, key=lambda run: run.started_at, default=None)

    def newest(self, lane: Lane) -> Manifest | None:
        """Newest promoted run of a lane."""
        runs = [run for run in self.runs.values() if run.lane == lane]
        return max(runs, key=lambda run: run.finished_at, default=None)

    def filled_on(self, lane: Lane) -> date | None:
        """Day of a lane's newest run, or of its computation; None where it has no rows."""
        basis = of_run(self.newest(lane)) or of_computed(self.computed.get(lane))
        return basis.on if basis else None
