"""The one strict base of every schema."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Frozen, no unknown fields, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Authored(Strict):
    """A file that a person writes (TOML or YAML): frozen, no unknown fields, lists may become tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)
