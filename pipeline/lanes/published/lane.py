"""The lane as a whole: from the sample and the quoted table to its tables."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.lanes.published.confounders import sift
from pipeline.lanes.published.pairs import pairs
from pipeline.lanes.published.sample import read_sample
from pipeline.lanes.published.sweeps import batch_effects, capacities, sweeps
from pipeline.schemas.base import Strict
from pipeline.schemas.published import QuotedFile, QuotedThroughput

SAMPLE = Path("aiconfigurator_core") / "systems" / "silicon_sample.csv"
"""The measured sample, in an environment's folder of packages."""


def published_tables(
    sample: Path, quoted: Path, say: Callable[[str], None]
) -> Mapping[str, Sequence[Strict]]:
    """Rows of every table of the lane.

    Raises:
        InputError: a file is not what it was; names file, line and field.
    """
    rows = read_sample(sample)
    quotes = read_quoted(quoted)
    sifted = sift(rows)
    say(f"published: {len(rows)} rows read, {len(sifted.kept)} speak of vLLM or TensorRT-LLM on one server")
    return {
        "pairs": pairs(sifted.kept),
        "published_sweeps": sweeps(sifted.kept),
        "published_batch": batch_effects(sifted.kept),
        "published_capacity": capacities(sifted.kept),
        "published_left_out": sifted.left_out,
        "quoted_throughput": quotes,
    }


def read_quoted(path: Path) -> list[QuotedThroughput]:
    """The vendor's table, each row with its source.

    Raises:
        InputError: the file is wrong, or lacks source or day.
    """
    try:
        file = QuotedFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise InputError(
            f"the quoted throughputs cannot be read: {error}",
            where=str(path),
            next_step="every row needs source, day and a positive value; nothing was ingested",
        ) from error
    common = file.model_dump(exclude={"rows"})
    return [QuotedThroughput(**common, **row.model_dump()) for row in file.rows]
