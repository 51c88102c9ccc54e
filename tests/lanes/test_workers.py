"""What is read from the engines' logs."""

from pathlib import Path

from pipeline.lanes.workers import LogReader, recomputed_tokens, scheduled_tokens, worker_of

LINE = "(APIServer pid=7) INFO [request_logger.py:65] Received request cmpl-{id}-0: params: Sampling"
STEP = (
    "INFO Iteration({n}): 1 context requests, {c} context tokens, "
    "3 generation requests, {g} generation tokens, x"
)


def test_each_request_belongs_to_the_log_that_names_it() -> None:
    texts = [LINE.format(id="aa-1"), LINE.format(id="bb-2") + "\n" + LINE.format(id="cc-3")]
    chat = "INFO Received request chatcmpl-dd-4: params: SamplingParams"
    assert worker_of([*texts, chat]) == {"aa-1": 0, "bb-2": 1, "cc-3": 1, "dd-4": 2}


def test_steps_add_up() -> None:
    assert scheduled_tokens([STEP.format(n=1, c=100, g=3), STEP.format(n=2, c=0, g=4)]) == 107
    assert scheduled_tokens(["nothing of that kind"]) is None


def test_recomputed_is_what_steps_took_beyond_one_pass() -> None:
    # 2 requests, 100 prompt tokens each, 32 cached in all, 10 output tokens each: 200 - 32 + 20 - 2 = 186.
    assert recomputed_tokens(186, 200, 32, 20, 2) == 0
    assert recomputed_tokens(250, 200, 32, 20, 2) == 64
    assert recomputed_tokens(None, 200, 32, 20, 2) is None


def test_a_reader_gives_only_what_is_new(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\n")
    reader = LogReader(log)
    with log.open("a") as file:
        file.write("new\n")
    assert reader.new_text() == "new\n"
    assert reader.new_text() == ""
