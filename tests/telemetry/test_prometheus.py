"""Counters: sums over labels, missing stays missing, backwards is refused."""

import pytest

from pipeline.errors import DataError, EngineFailure
from pipeline.telemetry.prometheus import increase, parse, scrape

TEXT = """# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0"} 3.0
vllm:num_preemptions_total{engine="1"} 4.0
# TYPE decisions counter
decisions_total{outcome="prefix_hit"} 5
decisions_total{outcome="missing_tokens"} 2
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="32",num_gpu_blocks="64"} 1.0
"""


def test_values_are_summed_over_labels() -> None:
    sample = parse(TEXT)
    assert sample.get("vllm:num_preemptions_total") == 7.0
    assert sample.where("decisions_total", outcome="missing_tokens") == 2.0
    assert sample.label("vllm:cache_config_info", "num_gpu_blocks") == "64"


def test_what_a_server_does_not_have_is_none() -> None:
    sample = parse(TEXT)
    assert sample.get("absent_total") is None
    assert sample.where("decisions_total", outcome="absent") is None
    assert increase(sample, sample, "absent_total") is None


def test_growth_and_a_counter_that_goes_backwards() -> None:
    later = parse(TEXT.replace("4.0", "9.0"))
    assert increase(parse(TEXT), later, "vllm:num_preemptions_total") == 5.0
    with pytest.raises(DataError, match="went backwards, from 12 to 7"):
        increase(later, parse(TEXT), "vllm:num_preemptions_total")


def test_nobody_answers() -> None:
    with pytest.raises(EngineFailure, match="no counters"):
        scrape("http://127.0.0.1:9/metrics", 0.5)
