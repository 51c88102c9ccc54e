"""The history of verdicts: appended when data are promoted or removed, never rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from pipeline.analysis.verdicts import decide
from pipeline.paths import Workspace
from pipeline.schemas.claim import HistoryEntry, Verdict
from pipeline.store.files import append_synced, reported

Cause = Literal["first", "data", "rule", "version", "wording"]
_FROM_DATA = ("verdict", "lane", "value", "low", "high", "unit", "n_independent", "decided_on")


def read_history(ws: Workspace) -> list[HistoryEntry]:
    """All entries, oldest first."""
    path = ws.data / "verdicts.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [HistoryEntry.model_validate_json(line) for line in lines]


def record(ws: Workspace, now: datetime | None = None) -> list[HistoryEntry]:
    """Append an entry for each claim whose verdict, evidence, rule or words changed since its last entry.

    Returns:
        What was appended.

    Raises:
        DataError: the disk refuses; nothing was appended then.
    """
    moment = now or datetime.now(UTC)
    entries = list(_changes(read_history(ws), decide(ws, today=moment.date()), moment))
    if entries:
        path = ws.data / "verdicts.jsonl"
        with reported("recording the verdicts", path):
            append_synced(path, "".join(each.model_dump_json() + "\n" for each in entries).encode())
    return entries


def _changes(
    history: Sequence[HistoryEntry], verdicts: Sequence[Verdict], now: datetime
) -> Iterator[HistoryEntry]:
    last = {entry.id: entry for entry in history}
    for verdict in verdicts:
        before = last.get(verdict.id)
        if cause := _cause(before, verdict):
            yield _entry(verdict, cause, before.verdict if before else None, now)


def _cause(before: HistoryEntry | None, verdict: Verdict) -> Cause | None:
    """Why an entry is due; a changed rule is named before the data it was changed for."""
    if before is None:
        return "first"
    if before.rule_hash != verdict.rule_hash:
        return "rule"
    if before.versions != verdict.versions and None not in (before.versions, verdict.versions):
        return "version"
    if any(getattr(before, name) != getattr(verdict, name) for name in _FROM_DATA):
        return "data"
    return "wording" if before.wording_hash != verdict.wording_hash else None


def _entry(verdict: Verdict, cause: Cause, previous: str | None, now: datetime) -> HistoryEntry:
    copied = set(HistoryEntry.model_fields) & set(Verdict.model_fields)
    values = {name: getattr(verdict, name) for name in copied}
    return HistoryEntry(recorded_at=now, cause=cause, previous=previous, **values)
