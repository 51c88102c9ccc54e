"""Command lines and configuration files of the GPU engines, against the engines' own lists of options."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from pipeline.engines import trtllm, vllm
from pipeline.engines.launchers import plan_start
from pipeline.engines.models import kv_bytes_per_token
from pipeline.plan import Machine, load_profile, plan
from pipeline.schemas.cell import EngineKnobs

OPTIONS = Path(__file__).parents[1] / "fixtures" / "options"


def listed(name: str) -> dict[str, Any]:
    return tomllib.loads((OPTIONS / f"{name}.toml").read_text())


def knobs_of_the_profile(engine: str) -> Iterator[EngineKnobs]:
    whole = plan(load_profile("gpu-nightly"), Machine(cores=8, gpus=8, vram_gib=80.0))
    yield from dict.fromkeys(c.cell.engine for c in whole.cells if c.cell.engine.name == engine)


def base(name: str, **known: Any) -> EngineKnobs:
    given = {"model": "wb-8b", "weights": "gaussian", "max_model_len_tokens": 8192, "block_size_tokens": 0}
    return EngineKnobs.model_validate({"name": name, "answers_render": False} | given | known)


def test_every_vllm_line_of_the_profile_has_known_options_each_once() -> None:
    known = set(listed("vllm-0.33.0")["options"])
    pinned = load_profile("gpu-nightly").engines["vllm"].version
    assert pinned == "0.33.0", "a new version needs a new list"
    for knobs in knobs_of_the_profile("vllm"):
        names = [part for part in vllm.gpu_arguments(knobs, "/model", "0.0.0.0", 8000) if part[:2] == "--"]
        assert {name.replace("--no-enable", "--enable") for name in names} <= known
        assert len(names) == len(set(names))


def test_every_trtllm_line_and_file_of_the_profile_has_known_names_each_in_one_place() -> None:
    known = listed("tensorrt-llm-1.2")
    for knobs in knobs_of_the_profile("tensorrt-llm"):
        line = trtllm.arguments(knobs, "/model", "0.0.0.0", 8000, "/config/config.yaml")
        names = {part for part in line if part[:2] == "--"}
        content = yaml.safe_load(trtllm.configuration(knobs))
        static = knobs.backend == "tensorrt"
        assert names <= set(known["options"])
        assert line[line.index("--backend") + 1] in known["backends"]
        assert content.keys() <= set(known["static_file" if static else "file"])
        assert content["kv_cache_config"].keys() <= set(known["kv_cache"])
        assert content.get("scheduler_config", {}).keys() <= set(known["scheduler"])
        assert (content.get("cuda_graph_config") or {}).keys() <= set(known["cuda_graph"])
        assert not {name.removeprefix("--") for name in names} & content.keys(), "set in two places"


def test_the_defaults_set_nothing_but_the_model() -> None:
    line = vllm.gpu_arguments(base("vllm"), "/model", "127.0.0.1", 8000)
    assert not {
        "--gpu-memory-utilization",
        "--kv-cache-memory-bytes",
        "--block-size",
        "--enforce-eager",
    } & set(line)
    content = yaml.safe_load(trtllm.configuration(base("tensorrt-llm")))
    assert content["kv_cache_config"] == {"enable_block_reuse": True, "free_gpu_memory_fraction": 0.9}
    assert content.keys() == {"kv_cache_config", "enable_iter_perf_stats", "max_seq_len"}


def test_equal_pools_are_equal_in_bytes() -> None:
    size = 16 * 2**30
    line = vllm.gpu_arguments(base("vllm", kv_pool_bytes=size), "/model", "127.0.0.1", 8000)
    assert line[line.index("--kv-cache-memory-bytes") + 1] == str(size)
    for kv_dtype, tokens in (("auto", 131_072), ("fp8", 262_144)):
        knobs = base("tensorrt-llm", kv_pool_bytes=size, kv_dtype=kv_dtype)
        assert yaml.safe_load(trtllm.configuration(knobs))["kv_cache_config"]["max_tokens"] == tokens
        assert tokens * kv_bytes_per_token("wb-8b", knobs.kv_dtype) == size


def test_each_knob_reaches_both_engines_by_their_own_names() -> None:
    asked: dict[str, Any] = {
        "cuda_graphs": False,
        "kv_offload_gib": 32.0,
        "chunked_prefill": True,
        "kv_dtype": "fp8",
    }
    line = vllm.gpu_arguments(base("vllm", **asked), "/model", "127.0.0.1", 8000)
    assert {"--enforce-eager", "--enable-chunked-prefill"} <= set(line)
    assert line[line.index("--kv-offloading-size") + 1] == "32.0"
    assert line[line.index("--kv-offloading-backend") + 1] == "native"
    content = yaml.safe_load(trtllm.configuration(base("tensorrt-llm", **asked, admission="max-utilisation")))
    assert content["cuda_graph_config"] is None
    assert content["kv_cache_config"]["host_cache_size"] == 32 * 2**30
    assert content["kv_cache_config"]["dtype"] == "fp8"
    assert content["scheduler_config"] == {"capacity_scheduler_policy": "MAX_UTILIZATION"}


def test_the_static_backend_takes_its_limits_on_the_line_and_only_there() -> None:
    knobs = base("tensorrt-llm", backend="tensorrt", max_num_seqs=256)
    line = trtllm.arguments(knobs, "/model", "0.0.0.0", 8000, "/config/config.yaml")
    assert line[line.index("--max_batch_size") + 1] == "256"
    assert line[line.index("--max_seq_len") + 1] == "8192"
    assert yaml.safe_load(trtllm.configuration(knobs)).keys() == {"kv_cache_config"}


def test_weights_of_the_engines_own_are_asked_for_by_name_only() -> None:
    assert "--load-format" not in plan_start(base("vllm"), "/model", "0.0.0.0", 8000, "").arguments
    dummy = plan_start(base("tensorrt-llm", weights="dummy"), "/model", "0.0.0.0", 8000, "/c")
    assert yaml.safe_load(dummy.config)["load_format"] == "dummy"


@pytest.mark.parametrize(
    ("name", "knob", "says"),
    [
        ("vllm", {"admission": "no-evict"}, "admission is a knob of tensorrt-llm"),
        ("tensorrt-llm", {"weight_offload_gib": 8.0}, "weight_offload_gib is a knob of vllm"),
        ("vllm", {"kv_pool_bytes": 2**30, "gpu_memory_share": 0.9}, "the KV pool is set once"),
    ],
)
def test_a_knob_of_the_other_engine_is_refused(name: str, knob: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        base(name, **knob)
