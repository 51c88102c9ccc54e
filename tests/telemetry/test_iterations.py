"""TensorRT-LLM's list of iterations: it drains, it may be empty, and versions leave keys out."""

from pipeline.telemetry.iterations import IterationReader
from pipeline.telemetry.prometheus import Sample
from pipeline.telemetry.quantities import grown, kv_moved_gib, pool


def iteration(**cache: float) -> dict[str, object]:
    stats = {"maxNumBlocks": 4096, "usedNumBlocks": 0, "tokensPerBlock": 32} | cache
    return {
        "gpuMemUsage": 70_000_000_000,
        "kvCacheStats": stats,
        "inflightBatchingStats": {"numPausedRequests": 0},
    }


def known(reader: IterationReader) -> Sample:
    return Sample({f"trtllm_iteration_{name}": value for name, value in reader._values.items()}, {})


def test_pool_peak_and_reuse_come_from_blocks() -> None:
    reader = IterationReader("http://nowhere/metrics")
    reader.take([iteration(usedNumBlocks=1024, reusedBlocks=10, missedBlocks=30)])
    before = known(reader)
    reader.take(
        [iteration(usedNumBlocks=2048, reusedBlocks=50, missedBlocks=40), iteration(usedNumBlocks=512)]
    )
    after = known(reader)
    assert pool(after) == (4096, 32)
    assert reader.usage_peak() == 0.5
    assert reader.usage() == 0.125
    assert grown(before, after, "blocks_reused") == 40
    assert grown(before, after, "blocks_missed") == 10


def test_an_empty_list_and_missing_keys_change_nothing() -> None:
    reader = IterationReader("http://nowhere/metrics")
    shapes: list[list[object]] = [
        [],
        [{}],
        [{"kvCacheStats": None}],
        ["text"],
        [{"kvCacheStats": {"maxNumBlocks": "many"}}],
    ]
    for given in shapes:
        reader.take(given)
    assert known(reader).values == {}
    assert reader.reads_empty == 1
    assert (reader.usage(), reader.usage_peak()) == (None, None)


def test_bytes_of_an_iteration_add_up_and_peaks_begin_anew() -> None:
    reader = IterationReader("http://nowhere/metrics")
    moved = {"iterOffloadBytes": 2**29, "iterOnboardBytes": 2**28}
    reader.take(
        [iteration() | {"kvCacheIterationStats": moved, "inflightBatchingStats": {"numPausedRequests": 3}}]
        * 2
    )
    assert kv_moved_gib(Sample(dict.fromkeys(known(reader).values, 0.0), {}), known(reader)) == 1.5
    assert known(reader).get("trtllm_iteration_paused_peak") == 3
    reader.forget_peaks()
    assert known(reader).get("trtllm_iteration_paused_peak") is None


def test_a_server_that_is_gone_is_noted() -> None:
    reader = IterationReader("http://127.0.0.1:9/metrics")
    reader.drain()
    assert reader.gone
