"""`weighbridge runs`: what was measured, and what of it is promoted."""

from __future__ import annotations

from collections import Counter

from pydantic import BaseModel, Field
from pydantic_settings import CliApp, CliPositionalArg, CliSubCommand

from pipeline.analysis.history import record
from pipeline.paths import Workspace
from pipeline.schemas.claim import HistoryEntry
from pipeline.store.runs import StoredRun, discard, find_run, list_runs, promote


class RunsList(BaseModel):
    """List finished runs: promoted, local and quarantined."""

    def cli_cmd(self) -> None:
        """Print one line for each run, oldest first."""
        runs = list_runs(Workspace())
        print("\n".join(_line(run) for run in runs) or "No run is finished yet: weighbridge run cpu-quick")


class RunsShow(BaseModel):
    """Show one run: where, when, on what, with which versions, and its failures."""

    run_id: CliPositionalArg[str] = Field(description="run name, as `weighbridge runs list` shows it")

    def cli_cmd(self) -> None:
        """Print the manifest, cells by experiment, and the reason of every failed cell."""
        print(shown(find_run(Workspace(), self.run_id)))


class RunsPromote(BaseModel):
    """Move a local run into the committed data and record what it does to the verdicts."""

    run_id: CliPositionalArg[str] = Field(description="local run with at least three repeats")

    def cli_cmd(self) -> None:
        """Promote, then append to the verdicts' history."""
        run = promote(Workspace(), self.run_id)
        print(f"promoted to {run.folder}; commit the folder data/ to publish it")
        _tell(record(Workspace()))


class RunsDiscard(BaseModel):
    """Remove a run; a promoted one leaves a line with the reason in data/corrections.jsonl."""

    run_id: CliPositionalArg[str] = Field(description="run name")
    reason: str = Field(description="why; readers see it on the corrections page")

    def cli_cmd(self) -> None:
        """Remove, then append to the verdicts' history if pages spoke from the run."""
        run = discard(Workspace(), self.run_id, self.reason)
        print(f"removed {run.folder}")
        if run.place == "promoted":
            _tell(record(Workspace()))


class RunsCommand(BaseModel):
    """List, show, promote or discard finished runs."""

    list: CliSubCommand[RunsList]
    show: CliSubCommand[RunsShow]
    promote: CliSubCommand[RunsPromote]
    discard: CliSubCommand[RunsDiscard]

    def cli_cmd(self) -> None:
        """Run the part that was named."""
        CliApp.run_subcommand(self)


def shown(run: StoredRun) -> str:
    """One run as text."""
    manifest, host = run.manifest, run.manifest.host
    rows = run.rows()
    cells = Counter(row.experiment for row in rows if row.phase == "whole" and row.status == "ok")
    failures = [
        f"  failed: {row.experiment} {row.cell_id} repeat {row.repeat}: {row.failure}"
        for row in rows
        if row.status == "failed"
    ]
    versions = ", ".join(f"{tool} {version}" for tool, version in sorted(manifest.versions.items()))
    lines = [
        _line(run),
        f"  command: {manifest.command}  (commit {manifest.git_commit or 'unknown'})",
        f"  machine: {host.gpu_name or host.cpu_model}, {host.cores} cores, {host.memory_gib:.1f} GiB",
        f"  versions: {versions}",
        f"  cells: {', '.join(f'{name} {count}' for name, count in sorted(cells.items()))}",
        *([f"  quarantined: {run.reason}"] if run.reason else []),
    ]
    return "\n".join(lines + failures)


def _line(run: StoredRun) -> str:
    manifest = run.manifest
    minutes = manifest.duration_s / 60
    return (
        f"{run.run_id:<34} {run.place:<11} {manifest.started_at:%Y-%m-%d %H:%M} UTC  {minutes:4.0f} min  "
        f"{manifest.repeats} repeats  {manifest.cells_ok} ok, {manifest.cells_failed} failed"
    )


def _tell(entries: list[HistoryEntry]) -> None:
    changed = [entry for entry in entries if entry.previous not in (None, entry.verdict)]
    for entry in changed:
        print(f"  {entry.id}: {entry.previous} -> {entry.verdict} ({entry.cause})")
    print(f"{len(entries)} entries added to data/verdicts.jsonl, {len(changed)} verdicts changed")
