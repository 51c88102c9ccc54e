"""Reading the catalogues: TOML files in `data/catalogue`, checked, each entry with source and date."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.catalogue.config import attention_kind, first, kv_groups, kv_note, text_part
from pipeline.catalogue.parameters import COUNTED, Count, count, from_name
from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.plan.files import read_toml
from pipeline.schemas.catalogue import (
    Board,
    Boards,
    KvLog,
    KvLogs,
    Lengths,
    LengthSets,
    Link,
    Links,
    Model,
    Models,
    Price,
    Prices,
    Release,
    Releases,
    Route,
)

_GIVE_CONFIG = "give a Hugging Face config.json of a language model"
NEXT_STEP = 'weighbridge query "SELECT name FROM {view}" lists them'


@dataclass(frozen=True)
class Catalogue:
    """Everything the derived lane computes from.

    Args:
        folder: folder of the TOML files.

    Raises:
        InputError: when a part is asked for whose file is wrong, with file, line and field.
    """

    folder: Path

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Models with a public config, then the sizes that claims speak of."""
        parts = [read_toml(self.folder / name, Models).models for name in ("models.toml", "sizes.toml")]
        return _unique([model for part in parts for model in part], "model", self.folder)

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """GPU boards, phones and a TPU."""
        return _unique(read_toml(self.folder / "hardware.toml", Boards).boards, "board", self.folder)

    @cached_property
    def _links(self) -> Links:
        return read_toml(self.folder / "links.toml", Links)

    @property
    def links(self) -> tuple[Link, ...]:
        """Links by bandwidth."""
        return self._links.links

    @property
    def routes(self) -> tuple[Route, ...]:
        """Cables between places."""
        return self._links.routes

    @cached_property
    def prices(self) -> tuple[Price, ...]:
        """The price file."""
        return read_toml(self.folder / "prices.toml", Prices).prices

    @cached_property
    def logs(self) -> tuple[KvLog, ...]:
        """Public logs of KV pools."""
        return read_toml(self.folder / "kv_logs.toml", KvLogs).logs

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """Versions that people name."""
        return read_toml(self.folder / "releases.toml", Releases).releases

    @cached_property
    def lengths(self) -> tuple[Lengths, ...]:
        """Lengths of public traces."""
        return read_toml(self.folder / "lengths.toml", LengthSets).lengths

    def model(self, wanted: str) -> Model:
        """A model by catalogue name, Hugging Face id, or path of a `config.json`.

        Raises:
            InputError: no such model, with the nearest name; or a config that cannot be read.
        """
        if Path(wanted).suffix == ".json" or Path(wanted).is_dir():
            return model_of_file(Path(wanted))
        short = {id_.rsplit("/", 1)[-1].lower(): model for model in self.models for id_ in model.ids}
        named = {name.lower(): model for model in self.models for name in (model.name, *model.ids)}
        if found := (short | named).get(wanted.lower()):
            return found
        raise _unknown("model", wanted, list(named), "models")

    def board(self, wanted: str) -> Board:
        """A board by name, case ignored.

        Raises:
            InputError: no such board, with the nearest name.
        """
        plain = wanted.lower().replace("-", "_").replace(" ", "_")
        named = {name: board for board in self.boards for name in (board.name, *board.aliases)}
        found: Board = _by_name("GPU", plain, named, "hardware")
        return found

    def link(self, wanted: str) -> Link:
        """A link by name."""
        found: Link = _by_name("link", wanted, {link.name: link for link in self.links}, "links")
        return found

    def price(self, item: str) -> Price | None:
        """Price of an item, null where the file has none."""
        return next((price for price in self.prices if price.item == item), None)

    def hashes(self) -> dict[str, str]:
        """File name to hash, for what a computation was made from."""
        files = sorted(self.folder.glob("*.toml"))
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def catalogue(ws: Workspace) -> Catalogue:
    """The catalogue of a checkout."""
    return Catalogue(ws.data / "catalogue")


def model_of_file(path: Path) -> Model:
    """The model that a `config.json` describes.

    Raises:
        InputError: the file is missing, no JSON, or lacks what a shape needs.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        return model_of(config, _plain_name(file), (), f"file {file.name}", date.today())  # noqa: DTZ011
    except OSError as error:
        raise InputError("the config cannot be read", where=str(file), next_step=_GIVE_CONFIG) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"the config is no JSON: {error}", where=str(file), next_step=_GIVE_CONFIG
        ) from error
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise InputError(
            f"the config does not describe a model: {type(error).__name__} {str(error).splitlines()[0]}",
            where=str(file),
            next_step=_GIVE_CONFIG,
        ) from error


def model_of(config: dict[str, Any], name: str, ids: tuple[str, ...], source: str, dated: date) -> Model:
    """A catalogue entry from a config.

    Args:
        config: a Hugging Face `config.json`.
        name: name in the catalogue.
        ids: Hugging Face ids.
        source: where the config is from.
        dated: day of that source.
    """
    text = text_part(config)
    architecture = (config.get("architectures") or ["unknown"])[0]
    groups = kv_groups(text)
    size, basis = _size(text, architecture, ids[0] if ids else name, is_file=not ids)
    heads = text.get("num_attention_heads")
    return Model(
        name=name,
        ids=ids,
        architecture=architecture,
        parameters_b=_billions(size.total),
        parameters_basis=basis,
        active_b=_billions(size.active) if size.active else None,
        wide_b=_billions(wide_of(config, size)),
        weight_bits=bits_of(config, ids[0] if ids else name),
        attention=attention_kind(groups, heads),
        layers=text.get("num_hidden_layers"),
        hidden_size=text.get("hidden_size"),
        heads=heads,
        experts=first(text, "num_experts", "num_local_experts", "n_routed_experts"),
        experts_per_token=first(text, "num_experts_per_tok", "num_experts_per_token", "top_k_experts"),
        max_context=text.get("max_position_embeddings"),
        groups=groups,
        kv_note=kv_note(text, groups),
        source=source,
        dated=dated,
    )


def bits_of(config: dict[str, Any], name: str) -> float:
    """Bits of a weight in the checkpoint, scales included.

    NVFP4 has an 8-bit scale for 16 weights (4.5 bits), MXFP4 one for 32 (4.25 bits), packed 4-bit integers a
    16-bit one for 32 (4.5 bits).
    """
    quantised = config.get("quantization_config") or text_part(config).get("quantization_config") or {}
    words = f"{name} {quantised.get('quant_method', '')} {quantised.get('config_groups', '')}".lower()
    known = {"nvfp4": 4.5, "mxfp4": 4.25, "'num_bits': 4": 4.5, "fp8": 8.0}
    return next((bits for word, bits in known.items() if word in words), 16.0)


def wide_of(config: dict[str, Any], size: Count) -> float:
    """Parameters that a quantised checkpoint keeps at 16 bits: the embeddings, or all but the experts."""
    quantised = str(config.get("quantization_config") or text_part(config).get("quantization_config") or "")
    experts_only = size.experts and ("self_attn" in quantised)
    return size.total - size.experts if experts_only else size.wide


def _size(text: Mapping[str, Any], architecture: str, name: str, *, is_file: bool) -> tuple[Count, Any]:
    """Parameters and what they rest on. The name of a file says little, so there a rough count goes first."""
    if architecture in COUNTED:
        return count(text), "counted"
    named = from_name(name)
    if named is not None and not is_file:
        return Count(named[0], named[1] or 0.0, 0.0), "name"
    try:
        return count(text), "estimated"
    except (KeyError, TypeError):
        if named is None:
            raise KeyError("parameters: neither countable nor in the name") from None
        return Count(named[0], named[1] or 0.0, 0.0), "name"


def _billions(number: float) -> float:
    return round(number / 1e9, 4)


def _plain_name(file: Path) -> str:
    stem = file.parent.name if file.stem == "config" else file.stem.removesuffix("_config")
    kept = "".join(each if each.isalnum() or each in "._-" else "-" for each in stem.lower()).strip("-._")
    return kept or "model"


def _unique(entries: Sequence[Any], word: str, folder: Path) -> tuple[Any, ...]:
    names = [entry.name for entry in entries]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InputError(f"two entries for one {word}: {', '.join(doubled)}", where=str(folder))
    return tuple(entries)


def _by_name(word: str, wanted: str, known: dict[str, Any], view: str) -> Any:
    found = known.get(wanted.lower())
    if found is None:
        raise _unknown(word, wanted, known, view)
    return found


def _unknown(word: str, wanted: str, known: Iterable[str], view: str) -> InputError:
    names = list(known)
    close = difflib.get_close_matches(wanted.lower(), names, 1, cutoff=0.4)
    inside = [name for name in names if wanted.lower() in name]
    nearest = next(iter([*inside, *close]), None)
    hint = f"did you mean {nearest}? " if nearest else ""
    return InputError(f"unknown {word} {wanted!r}", next_step=hint + NEXT_STEP.format(view=view))
