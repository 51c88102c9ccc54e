"""Catalogues: every entry sourced and dated, and what is not is refused with file, line and field."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.catalogue import Catalogue, catalogue
from pipeline.catalogue.config import attention_kind, kv_groups
from pipeline.cli.computed import LANES
from pipeline.errors import InputError
from pipeline.paths import Workspace


@pytest.fixture
def copy(tmp_path: Path) -> Catalogue:
    folder = tmp_path / "data" / "catalogue"
    shutil.copytree(Workspace().data / "catalogue", folder)
    return Catalogue(folder)


def broken(known: Catalogue, name: str, old: str, new: str) -> Path:
    path = known.folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize("line", ["dated = 2026-05-22\n", 'item = "h100_sxm"\n'])
def test_a_price_without_its_parts_is_refused(copy: Catalogue, line: str) -> None:
    broken(copy, "prices.toml", line, "")
    with pytest.raises(InputError, match=r"prices\.toml does not fit"):
        _ = copy.prices


def test_a_price_without_a_source_is_refused(copy: Catalogue) -> None:
    path = copy.folder / "prices.toml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith("source")]
    path.write_text("\n".join(kept))
    with pytest.raises(InputError, match="source"):
        _ = copy.prices


@pytest.mark.parametrize(("old", "new"), [("usd = 2.69", "usd = -2.69"), ("usd = 2.69", "usd = 269")])
def test_an_impossible_price_is_refused(copy: Catalogue, old: str, new: str) -> None:
    broken(copy, "prices.toml", old, new)
    with pytest.raises(InputError, match=r"prices\.toml"):
        _ = copy.prices


def test_a_refused_file_leaves_the_stored_tables(copy: Catalogue) -> None:
    ws = Workspace(copy.folder.parents[1])
    broken(copy, "hardware.toml", "memory_gb = 80.0", "memory_gb = -80.0")
    lane = LANES["derived"]
    lane.inputs(ws)
    with pytest.raises(InputError, match="memory_gb"):
        lane.compute(ws, lambda _: None)
    assert not (ws.data / "computed").exists()


def test_two_entries_of_one_name_are_refused(copy: Catalogue) -> None:
    broken(copy, "hardware.toml", 'name = "l4"', 'name = "t4"')
    with pytest.raises(InputError, match="two entries"):
        _ = copy.boards


def test_an_edited_price_reaches_the_costs(copy: Catalogue) -> None:
    before = catalogue(Workspace()).hashes()["prices.toml"]
    broken(copy, "prices.toml", "usd = 2.69", "usd = 2.99")
    assert copy.hashes()["prices.toml"] != before
    price = copy.price("h100_sxm")
    assert price is not None
    assert price.usd == 2.99


def test_the_a100_has_no_board_of_24_or_48_gb() -> None:
    known = catalogue(Workspace())
    sizes = {board.memory_gb for board in known.boards if "A100" in board.title}
    assert sizes == {40.0, 80.0}


def test_attention_of_each_kind() -> None:
    known = catalogue(Workspace())
    kinds = {name: known.model(name).attention for name in ("llama-2-7b", "llama-3.1-8b", "deepseek-r1")}
    assert kinds == {"llama-2-7b": "mha", "llama-3.1-8b": "gqa", "deepseek-r1": "mla"}
    assert known.model("gpt-oss-120b").attention == "hybrid"
    assert attention_kind(kv_groups({"compress_ratios": [4]}), 64) == "unknown"


def test_a_model_without_a_memory_rule_says_so(tmp_path: Path) -> None:
    config = {
        "architectures": ["DeepseekV4ForCausalLM"],
        "model_type": "deepseek_v4",
        "num_attention_heads": 64,
    }
    folder = tmp_path / "v4-100B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    model = catalogue(Workspace()).model(str(folder))
    assert (model.attention, model.groups) == ("unknown", ())
    assert "not modelled" in str(model.kv_note)
