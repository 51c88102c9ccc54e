"""Golden identities: a change here renames every stored row, so it must be on purpose."""

from __future__ import annotations

from pipeline.schemas.cell import Cell
from pipeline.schemas.identity import canonical, cell_id, host_id, series_id, workload_hash

PLAIN = Cell.model_validate(
    {
        "experiment": "kv_pressure",
        "lane": "cpu",
        "engine": {"name": "vllm", "model": "wb-small", "kv_pool_blocks": 48},
        "workload": {
            "traffic": "unshared",
            "requests": 48,
            "concurrency": 16,
            "prompt_tokens": 100,
            "output_tokens": 256,
        },
    }
)
ROUTED = PLAIN.model_copy(
    update={"router": Cell.model_validate({**PLAIN.model_dump(), "router": {"policy": "random"}}).router}
)
VERSIONS = {"vllm": "0.32.0", "vllm-router": "0.1.17", "aiperf": "0.13.0"}


def test_canonical_leaves_out_knobs_that_are_not_set() -> None:
    assert canonical(PLAIN)["engine"] == {"name": "vllm", "model": "wb-small", "kv_pool_blocks": 48}
    assert "router" not in canonical(PLAIN)
    assert "watch_memory" not in canonical(PLAIN)


def test_setting_a_knob_to_its_default_changes_no_id() -> None:
    spelled = PLAIN.model_copy(update={"watch_memory": False})
    assert series_id(spelled) == series_id(PLAIN)


def test_golden_ids() -> None:
    assert cell_id(PLAIN, VERSIONS) == "529dfa4da34c4040"
    assert cell_id(ROUTED, VERSIONS) == "f41f7beaafbd6588"
    assert series_id(PLAIN) == "873a34648567c1c3"
    assert workload_hash(b'{"prompt": "a"}\n') == "8a8c2da9cd6156c4"
    host = {"cpu_model": "Some CPU", "cores": 2, "memory_gib": 7.6, "gpu_name": None}
    assert host_id(host) == "cd4fe0fcdee0b45d"


def test_only_the_versions_that_serve_count() -> None:
    newer_router = {**VERSIONS, "vllm-router": "0.2.0", "aiperf": "9"}
    assert cell_id(PLAIN, newer_router) == cell_id(PLAIN, VERSIONS)
    assert cell_id(ROUTED, newer_router) != cell_id(ROUTED, VERSIONS)
    assert cell_id(PLAIN, {**VERSIONS, "vllm": "0.33.0"}) != cell_id(PLAIN, VERSIONS)


def test_host_id_ignores_small_changes_of_memory_and_itself() -> None:
    host = {"cpu_model": "Some CPU", "cores": 2, "memory_gib": 7.64}
    assert host_id(host) == host_id({**host, "memory_gib": 7.71, "host_id": "x"})
    assert host_id(host) != host_id({**host, "cores": 4})
