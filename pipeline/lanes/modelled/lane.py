"""The lane as a whole: the sample predicted for its errors, then the grid with bands from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.lanes.modelled.accuracy import directions, error_table, excluded, predict, sample_jobs
from pipeline.lanes.modelled.ask import Answer, ask
from pipeline.lanes.modelled.bands import Band, bands
from pipeline.lanes.modelled.grid import Place, places
from pipeline.lanes.modelled.points import artefact, rows
from pipeline.lanes.modelled.steps import step_job, step_places, step_rows
from pipeline.lanes.published.confounders import sift
from pipeline.lanes.published.sample import read_sample
from pipeline.schemas.base import Strict


def modelled_tables(
    python: Path, sample: Path, package_version: str, say: Callable[[str], None]
) -> Mapping[str, Sequence[Strict]]:
    """Rows of every table of the lane.

    Args:
        python: of the package's environment.
        sample: the measured sample.
        package_version: of aiconfigurator-core.
        say: told about progress.

    Raises:
        InputError: the sample is not what it was.
        EngineFailure: the package's process died.
    """
    kept = sift(read_sample(sample)).kept
    grid, steps = list(places()), step_places()
    measured = sample_jobs(kept)
    wanted = [*measured, *(place.job for place in grid), *(step_job(place) for place in steps)]
    answers = ask(python, wanted, say)
    predicted = predict(kept, measured, answers)
    table = error_table(predicted)
    known = bands(table)
    return {
        "model_error": table,
        "model_error_excluded": excluded(predicted),
        "model_direction": directions(kept, predicted),
        **_grid_tables(grid, answers, known, package_version),
        "step_tables": [
            row for place in steps for row in step_rows(place, answers[step_job(place).key], known)
        ],
    }


def _grid_tables(
    grid: Sequence[Place],
    answers: Mapping[str, Answer],
    known: Mapping[tuple[str, str], Band],
    package_version: str,
) -> dict[str, list[Strict]]:
    tables: dict[str, list[Strict]] = {"modelled": [], "modelled_dropped": []}
    for place in grid:
        answer = answers[place.job.key]
        if dropped := artefact(place, answer):
            tables["modelled_dropped"].append(dropped)
        else:
            tables["modelled"].extend(rows(place, answer, known, package_version))
    return tables
