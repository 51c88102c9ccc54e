"""A sample that is not what it was is refused with file and row, and nothing is ingested."""

from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.lanes.published.lane import read_quoted
from pipeline.lanes.published.sample import COLUMNS, digest, read_sample
from tests.published.made import record, write


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_sample(path)
    return caught.value.message


def test_a_renamed_column_is_named(tmp_path: Path) -> None:
    renamed = tuple(name.replace("silicon_ttft_ms", "silicon_ttft_s") for name in COLUMNS)
    message = refused(write(tmp_path / "s.csv", [record(1, "vllm") | {"silicon_ttft_s": "0.2"}], renamed))
    assert "missing silicon_ttft_ms; unknown silicon_ttft_s" in message
    assert "s.csv, line 1" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("silicon_tpot_ms", "-3"),
        ("silicon_tpot_ms", "0.0101"),  # seconds
        ("silicon_tpot_ms", "10100"),  # microseconds
        ("silicon_ttft_ms", "0.2"),
        ("silicon_ttft_ms", "nan"),
        ("silicon_ttft_ms", ""),
        ("tp_size", "0"),
        ("isl", "-1"),
        ("batch_size", ""),
        ("mode", "both"),
    ],
)
def test_an_impossible_value_is_refused_with_its_row(tmp_path: Path, field: str, value: str) -> None:
    bad = record(2, "trtllm") | {field: value}
    message = refused(write(tmp_path / "s.csv", [record(1, "vllm"), bad]))
    assert "line 3 (row-2)" in message
    assert "nothing was ingested" in message


def test_a_new_repetition_is_refused_and_a_known_one_is_read(tmp_path: Path) -> None:
    rows = [record(1, "vllm"), record(2, "vllm")]
    path, known = write(tmp_path / "s.csv", rows), tmp_path / "known.txt"
    assert "the repetition is new\n  where: " in refused(path)
    assert "line 3 (row-2)" in refused(path)
    known.write_text(digest(rows[1]))
    assert len(read_sample(path, known)) == 2


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    rows = [record(1, "vllm"), record(1, "vllm", concurrency=32, silicon_ttft_ms=300)]
    assert "line 3 (row-1)" in refused(write(tmp_path / "s.csv", rows))


def test_a_quote_without_a_day_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "throughput.toml"
    path.write_text('source = "a vendor page"\nlicence = "Apache-2.0"\nengine = "tensorrt_llm"\nrows = []\n')
    with pytest.raises(InputError, match="read_on"):
        read_quoted(path)
