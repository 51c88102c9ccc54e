"""Writes data/catalogue/models.toml from the configs that aiconfigurator-core ships.

Usage: python scripts/models.py FOLDER, FOLDER being the package's `model_configs`.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

from pipeline.catalogue import model_of
from pipeline.paths import Workspace
from pipeline.schemas.catalogue import KvGroup, Model

SOURCE = "public config.json as shipped in aiconfigurator-core 0.12.0 (Apache-2.0)"
RELEASED = date(2026, 9, 18)
# Ids with the same shape and size as a shipped config.
SAME = {
    "llama-3.1-8b": (
        "meta-llama/Llama-3.1-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3-8B",
    ),
    "llama-3.1-70b": (
        "meta-llama/Llama-3.1-70B",
        "meta-llama/Llama-3.1-70B-Instruct",
        "meta-llama/Llama-3.3-70B-Instruct",
        "meta-llama/Meta-Llama-3-70B",
    ),
    "llama-3.1-70b-instruct-fp8": ("nvidia/Llama-3.3-70B-Instruct-FP8",),
    "llama-3.1-405b": ("meta-llama/Llama-3.1-405B", "meta-llama/Llama-3.1-405B-Instruct"),
    "qwen3-30b-a3b": ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "Qwen/Qwen3-30B-A3B-Instruct-2507"),
    "qwen3-0.6b": ("Qwen/Qwen3-Reranker-0.6B",),
}
# Totals that neither a count nor the name gives, billions: (total, active), from the vendor's model card.
STATED = {
    "llama-4-scout-17b-16e-instruct": (109.0, 17.0),
    "llama-4-maverick-17b-128e-instruct": (400.0, 17.0),
}
PREFIXES = ("meta-", "nvidia-")


def main(folder: Path) -> None:
    """Read all configs, write the catalogue."""
    models: dict[str, Model] = {}
    skipped = []
    for path in sorted(folder.glob("*_config.json")):
        if path.name.endswith("_hf_quant_config.json"):
            continue
        owner, name = path.name.removesuffix("_config.json").split("--", 1)
        short = name.lower()
        for prefix in PREFIXES:
            short = short.removeprefix(prefix)
        try:
            made = model_of(
                json.loads(path.read_text()),
                short,
                (f"{owner}/{name}", *SAME.get(short, ())),
                SOURCE,
                RELEASED,
            )
        except (KeyError, TypeError, ValueError) as error:
            skipped.append(f"{path.name}: {error}")
            continue
        if short in STATED:
            total, active = STATED[short]
            made = made.model_copy(
                update={"parameters_b": total, "active_b": active, "parameters_basis": "paper"}
            )
        models[short] = made
    target = Workspace().data / "catalogue" / "models.toml"
    head = f"# Written by scripts/models.py from {SOURCE}. Do not edit by hand.\n"
    target.write_text(head + "".join(written(model) for model in models.values()))
    print(f"{len(models)} models; skipped: {skipped or 'none'}")


def written(model: Model) -> str:
    """One entry as TOML."""
    fields = model.model_dump(mode="json", exclude_defaults=True, exclude={"groups"})
    fields["dated"] = model.dated
    lines = [f"{key} = {value(each)}" for key, each in fields.items()]
    groups = ", ".join(inline(group) for group in model.groups)
    return "\n[[models]]\n" + "\n".join([*lines, f"groups = [{groups}]"]) + "\n"


def inline(group: KvGroup) -> str:
    """A group of layers as an inline table."""
    return (
        "{" + ", ".join(f"{k} = {value(v)}" for k, v in group.model_dump(exclude_defaults=True).items()) + "}"
    )


def value(each: object) -> str:
    """A TOML value."""
    if isinstance(each, date):
        return each.isoformat()
    if isinstance(each, (list, tuple)):
        return "[" + ", ".join(value(part) for part in each) + "]"
    return json.dumps(each)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
