"""Reading profile and experiment files, with errors that name file, line and field."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.errors import InputError
from pipeline.paths import PACKAGE
from pipeline.schemas.computed import ComputedProfile
from pipeline.schemas.profile import Experiment, Profile

Model = TypeVar("Model", bound=BaseModel)
PROFILES = PACKAGE / "profiles"
EXPERIMENTS = PACKAGE / "experiments"


def profile_names(folder: Path = PROFILES) -> list[str]:
    """Names of all profiles."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def experiment_names(folder: Path = EXPERIMENTS) -> list[str]:
    """Names of all experiments."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_profile(name: str, folder: Path = PROFILES) -> Profile:
    """The profile `name`; InputError names the known ones."""
    return _named(name, folder, Profile, "profile")


def load_any_profile(name: str, folder: Path = PROFILES) -> Profile | ComputedProfile:
    """The profile `name`, of a measured or of a computed lane; InputError names the known ones."""
    path = folder / f"{name}.toml"
    if path.exists() and re.search(r"(?m)^computes\s*=", path.read_text(encoding="utf-8")):
        return _named(name, folder, ComputedProfile, "profile")
    return load_profile(name, folder)


def load_experiment(name: str, folder: Path = EXPERIMENTS) -> Experiment:
    """The experiment `name`; InputError names the known ones."""
    return _named(name, folder, Experiment, "experiment")


def _named(name: str, folder: Path, model: type[Model], word: str) -> Model:
    known = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"unknown {word} {name!r}", next_step=f"{hint}known: {', '.join(known)}")
    path = folder / f"{name}.toml"
    loaded = read_toml(path, model)
    if getattr(loaded, "name", name) != name:
        raise InputError(
            f"{word} file and its name differ", where=f"{path}, field name", next_step=f"set name = {name!r}"
        )
    return loaded


def read_toml(path: Path, model: type[Model]) -> Model:
    """A TOML file as a checked model.

    Raises:
        InputError: with file and line for bad syntax, file, line and field for bad content.
    """
    text = path.read_text(encoding="utf-8")
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"not valid TOML: {error}", where=str(path), next_step="correct the line named above"
        ) from None
    except ValidationError as error:
        problems = "\n".join(f"    {_problem(text, item)}" for item in error.errors())
        raise InputError(
            f"{path.name} does not fit its schema:\n{problems}",
            where=str(path),
            next_step="correct these fields",
        ) from None


def _problem(text: str, item: Mapping[str, Any]) -> str:
    path = [str(part) for part in item["loc"]]
    line = _line_of(text, path)
    place = f"line {line}, " if line else ""
    return f"{place}field {'.'.join(path)}: {item['msg']}"


def _line_of(text: str, path: list[str]) -> int | None:
    """First line that sets the last key of the path that is there at all, within the entry of a list."""
    names = [part for part in path if not part.isdigit()]
    lines = list(enumerate(text.splitlines(), 1))
    heads = (
        [place for place, (_, line) in enumerate(lines) if line.strip() == f"[[{names[0]}]]"] if names else []
    )
    if heads and len(path) > 1 and path[1].isdigit():
        ends = [*heads[1:], len(lines)]
        lines = lines[heads[int(path[1])] : ends[int(path[1])]]
    for name in reversed(names):
        for number, line in lines:
            key = line.split("=")[0].strip().strip('"').strip("[]")
            if key == name or key.endswith(f".{name}") or f" {name} =" in line or f"{{{name}" in line:
                return number
    return None
