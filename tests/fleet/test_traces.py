"""Public traces: readers that refuse what cannot be replayed, and a command that checks what it brings."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli.app import main
from pipeline.errors import DataError
from pipeline.fleet import traces
from pipeline.fleet.traces import Trace, azure, fetch, mooncake, trace_path
from tests.fleet.made import message

LINE = '{"timestamp": %d, "input_length": %d, "output_length": 5, "hash_ids": %s}'
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "trace"
    path.write_text("\n".join(lines) + "\n")
    return path


def conversation(folder: Path) -> Path:
    return written(
        folder,
        LINE % (0, 1100, "[0, 7, 9]"),
        LINE % (0, 1100, "[0, 8, 3]"),
        LINE % (3000, 1600, "[0, 7, 9, 11]"),
        LINE % (6000, 600, "[0, 2]"),
    )


def test_full_blocks_of_a_mooncake_prompt_become_its_chain(tmp_path: Path) -> None:
    load = mooncake(conversation(tmp_path))
    assert load.hash_block_tokens == 512
    assert list(load.chain_blocks) == [2, 2, 3, 1]
    ids = [list(load.chain_ids[s : s + n]) for s, n in zip(load.chain_start, load.chain_blocks, strict=True)]
    assert ids[2][:2] == ids[0]
    assert ids[1][0] == ids[0][0]
    assert ids[1][1] != ids[0][1]
    assert load.block_count == 4
    assert load.session[0] == load.session[2] != load.session[1]


def test_equal_stamps_are_spread_until_the_next_one(tmp_path: Path) -> None:
    path = conversation(tmp_path)
    assert list(mooncake(path).arrival_s) == [0.0, 1.5, 3.0, 6.0]
    assert list(mooncake(path, spread=False).arrival_s) == [0.0, 0.0, 3.0, 6.0]
    assert list(mooncake(path, rate_scale=2.0).arrival_s) == [0.0, 0.75, 1.5, 3.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "line 2"),
        ('{"timestamp": 1}', "timestamp, input_length"),
        (LINE % (1, 1100, '["a", 1]'), "not a whole number"),
        (LINE % (1, 1100, "[1]"), "1 hash_ids for a prompt of 1100"),
        (LINE % (1, 0, "[]"), "0 prompt"),
        (LINE % (-5, 10, "[]"), "comes before"),
        (LINE % (0, 600, "[0, 1]"), "stands there twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path, LINE % (0, 600, "[0, 1]"), line)
    told = message(lambda: mooncake(path))
    assert said in told
    assert "line 2" in told
    assert str(path) in told


def test_equal_requests_at_different_times_are_no_doubles(tmp_path: Path) -> None:
    path = written(tmp_path, LINE % (0, 600, "[0, 1]"), LINE % (9, 600, "[0, 1]"))
    assert mooncake(path).requests == 2


def test_azure_lengths_and_times(tmp_path: Path) -> None:
    path = written(
        tmp_path, HEADER, "2023-11-16 18:17:03.9799600,4808,10", "2023-11-16 18:17:04.0319600,3180,8"
    )
    load = azure(path)
    assert list(load.input_tokens) == [4808, 3180]
    assert load.arrival_s == pytest.approx([0, 0.052])
    assert load.block_count == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2023-11-16 18:17:02.0000000,5,5", "comes before"),
        ("yesterday,5,5", "not a time"),
        ("2023-11-16 18:17:04.0000000,5", "not a time"),
        ("2023-11-16 18:17:04.0000000,5,nan", "not a time"),
        ("2023-11-16 18:17:03.0000000,4808,10", "twice"),
    ],
)
def test_a_wrong_azure_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path, HEADER, "2023-11-16 18:17:03.0000000,4808,10", line)
    told = message(lambda: azure(path))
    assert said in told
    assert "line 3" in told


def test_a_file_without_its_header_or_without_requests_is_refused(tmp_path: Path) -> None:
    assert "header" in message(lambda: azure(written(tmp_path, "a,b,c")))
    assert "holds no request" in message(lambda: azure(written(tmp_path, HEADER)))
    assert "cannot be read" in message(lambda: mooncake(tmp_path / "absent"))
    assert "rate_scale is nan" in message(lambda: mooncake(conversation(tmp_path), rate_scale=float("nan")))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Trace]:
    """A folder with one trace in it, and the trace that should be there."""
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    folder.mkdir()
    path = conversation(folder).rename(folder / "conversation_trace.jsonl")
    content = path.read_bytes()
    made = replace(
        traces.TRACES["mooncake-conversation"],
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    monkeypatch.setitem(traces.TRACES, made.name, made)
    return folder, made


def test_the_command_takes_a_folder_and_checks_it(
    shop: tuple[Path, Trace], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, made = shop
    assert "weighbridge traces" in message(lambda: trace_path(made.name))
    assert main(["traces", made.name, "--from", str(folder)]) == 0
    assert "fetched" in capsys.readouterr().out
    assert mooncake(trace_path(made.name)).requests == 4
    assert main(["traces", made.name, "--from", str(folder)]) == 0
    assert "in place" in capsys.readouterr().out


def test_another_file_under_the_same_name_is_not_taken(shop: tuple[Path, Trace]) -> None:
    folder, made = shop
    (folder / made.file).write_text("something else")
    with pytest.raises(DataError, match="checksum"):
        fetch(made, folder)
    assert list(traces.traces_folder().iterdir()) == []


def test_a_folder_without_the_file_and_an_unknown_name_end_with_a_message(
    shop: tuple[Path, Trace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["traces", shop[1].name, "--from", str(tmp_path)]) == 2
    assert shop[1].url in capsys.readouterr().err
    assert main(["traces", "moon"]) == 2
    assert "azure-2023-code" in capsys.readouterr().err
    assert main(["traces", "--from", str(tmp_path / "nowhere")]) == 2


def test_doubled_lines_of_a_catalogued_file_are_its_own(
    shop: tuple[Path, Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = shop
    path = written(folder, LINE % (0, 600, "[0, 1]"), LINE % (0, 600, "[0, 1]"))
    assert "twice" in message(lambda: mooncake(path))
    known = replace(made, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setitem(traces.TRACES, made.name, known)
    assert np.array_equal(mooncake(path).chain_ids, [0, 0])
