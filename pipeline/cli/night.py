"""`weighbridge night`: one whole night, from cells to a published page, or nothing at all."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.analysis.history import record
from pipeline.cli.run import measure_profile
from pipeline.cli.say import say
from pipeline.errors import CheckFailed, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.plan import load_profile
from pipeline.run import run_lock
from pipeline.schemas.profile import Profile
from pipeline.store.runs import promote, quarantine

Measure = Callable[[Workspace, Profile], Path]


class NightCommand(BaseModel):
    """Measure what is due, check, promote or quarantine, build; the old site stays until the new is whole."""

    profile: CliPositionalArg[str] = Field("gpu-nightly", description="profile name, e.g. gpu-nightly or cpu")
    wait_s: float = Field(600.0, ge=0, description="wait this long for another run on this machine")

    def cli_cmd(self) -> None:
        """Run the night, and say what became of it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        with run_lock(self.wait_s, say):
            print(night(Workspace(), load_profile(self.profile), measure_profile))


def night(ws: Workspace, profile: Profile, measured: Measure) -> str:
    """One night.

    Args:
        ws: the checkout.
        profile: what to measure.
        measured: measures a profile and returns the folder of the finished run.

    Returns:
        One line about what was promoted.

    Raises:
        EnvironmentMissing: the machine lacks something; nothing was changed.
        CheckFailed: the run failed its checks or the site could not be built from it. The run is in
            quarantine with the reason; data and site are as they were.
    """
    folder = measured(ws, profile)
    if folder.parent == ws.quarantine:
        raise CheckFailed(
            f"the night's run {folder.name} failed its checks and is in quarantine",
            where=str(folder),
            next_step=f"weighbridge runs show {folder.name}; the last good data and site stay",
        )
    with staged(ws, folder.name) as stage:
        _try(ws, stage, folder.name)
        run = promote(ws, folder.name)
        changed = record(ws)
        _put_in_place(stage, ws)
    cells = f"{run.manifest.cells_ok} cells ok, {run.manifest.cells_failed} failed"
    return f"promoted {run.run_id}: {cells}; {len(changed)} verdict entries; site in {ws.site}"


@contextmanager
def staged(ws: Workspace, run_id: str) -> Iterator[Workspace]:
    """A copy of the checkout's data and pages beside it, with the new run, to be thrown away."""
    ws.local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="night-", dir=ws.local) as scratch:
        stage = Workspace(Path(scratch))
        shutil.copytree(ws.data, stage.data)
        for part in ("docs", "mkdocs.yml"):
            if (ws.root / part).is_dir():
                shutil.copytree(ws.root / part, stage.root / part)
            elif (ws.root / part).exists():
                shutil.copy2(ws.root / part, stage.root / part)
        shutil.copytree(ws.local_runs / run_id, stage.local_runs / run_id)
        yield stage


def _try(ws: Workspace, stage: Workspace, run_id: str) -> None:
    """Promote and build in the copy; what fails there is quarantined here."""
    # The site engine is slow to import, and the other commands do without it.
    from pipeline.site.build import build_site  # noqa: PLC0415

    try:
        promote(stage, run_id)
        record(stage)
        build_site(stage)
    except WeighbridgeError as error:
        folder = quarantine(ws, run_id, error.message)
        raise CheckFailed(
            f"no site can be built from the night's run {run_id}: {error.what}",
            where=str(folder),
            next_step="the last good data and site stay; mend the cause and promote the run by hand",
        ) from error


def _put_in_place(stage: Workspace, ws: Workspace) -> None:
    from pipeline.site.build import swap  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="site-", dir=ws.local) as scratch:
        fresh = Path(scratch) / "site"
        stage.site.rename(fresh)
        swap(fresh, ws.site)
