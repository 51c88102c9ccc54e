"""Reading claim files, with their authority checked and their hashes taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.analysis.authority import check_authority
from pipeline.errors import InputError, WeighbridgeError
from pipeline.paths import Workspace
from pipeline.plan.files import read_toml
from pipeline.schemas.claim import Claim

_HEX_DIGITS = 12
_WORDS = frozenset({"claim", "number", "test", "scope", "note", "topic", "source", "id"})


def load_claims(ws: Workspace) -> list[Claim]:
    """All claims, by id.

    Raises:
        InputError: a file is not valid, with file, line and field.
        CheckFailed: a claim asks a lane for what it may never decide.
    """
    claims, wrong = [], []
    for path in sorted(ws.claims.glob("*.toml")):
        try:
            claims.append(load_claim(path))
        except WeighbridgeError as error:
            wrong.append(error)
    raise_all(wrong, str(ws.claims))
    return claims


def raise_all(wrong: Sequence[WeighbridgeError], where: str) -> None:
    """Raise one error as it is, several as one that tells them all; return where there are none."""
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise InputError("\n".join(each.message for each in wrong), where=where)


def load_claim(path: Path) -> Claim:
    """One claim file, with its authority checked. Raises as `load_claims` does."""
    claim = read_toml(path, Claim)
    if claim.id != path.stem:
        raise InputError(f"the claim in {path.name} calls itself {claim.id}", where=str(path))
    check_authority(claim)
    return claim


def rule_hash(claim: Claim) -> str:
    """Hash of everything that decides, and of no word that does not."""
    return _digest(claim.model_dump(mode="json", exclude_defaults=True, exclude=set(_WORDS)))


def wording_hash(claim: Claim) -> str:
    """Hash of the words of a claim."""
    return _digest(claim.model_dump(mode="json", include=set(_WORDS)))


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]
