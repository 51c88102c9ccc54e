"""The command line: help comes from the schemas, and mistakes end with a message and a documented code."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel

from pipeline import __version__, errors
from pipeline.cli import app
from pipeline.cli.app import main
from pipeline.paths import REPOSITORY

Words = tuple[str, ...]


def commands(model: type[BaseModel], path: Words = ()) -> Iterator[tuple[Words, type[BaseModel]]]:
    """Every command and part of a command, with the words that call it."""
    for name, field in model.model_fields.items():
        for part in get_args(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield (*path, name), part
                yield from commands(part, (*path, name))


ALL = dict(commands(app.command_line()))


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code, and all that a user sees."""
    try:
        code = main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    seen = capsys.readouterr()
    return code, seen.out + seen.err


def test_the_commands_are_those_that_the_docs_name() -> None:
    answering, cards = {"query", "fit", "cost"}, {"gpu", "night"}
    assert {path[0] for path in ALL} == {
        "run",
        "build",
        "check",
        "preview",
        "new",
        "runs",
        "traces",
        "env",
        "doctor",
    } | answering | cards
    assert {path for path in ALL if path[0] in ("runs", "env", "gpu") and len(path) == 2} >= {
        *(("runs", name) for name in ("list", "show", "promote", "discard")),
        *(("env", name) for name in ("setup", "list", "remove")),
        *(("gpu", name) for name in ("setup", "kit", "take")),
    }


def test_without_a_command_all_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = run(capsys=capsys)
    assert code == 0
    assert "usage: weighbridge" in seen
    for path in ALL:
        assert path[0] in seen


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_written_in_the_schema_for_every_option(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, seen = run(*path, "--help", capsys=capsys)
    assert code == 0
    words = " ".join(seen.split())
    first_line = (ALL[path].__doc__ or "").partition("\n")[0]
    assert " ".join(first_line.split())[:60] in words
    for name, field in ALL[path].model_fields.items():
        if (*path, name) not in ALL:
            assert field.description, f"{' '.join(path)}: {name} has no description"
            assert field.description.split()[0] in words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["weigh"], "invalid choice: 'weigh'"),
        (["run"], "the following arguments are required: PROFILE"),
        (["run", "cpu", "extra"], "unrecognized arguments: extra"),
        (["run", "cpu", "--wait-s", "-1"], "run.wait-s: Input should be greater than or equal to 0"),
        (["run", "no-such-profile"], "no-such-profile"),
        (["env", "setup", "vllm-cup"], "did you mean vllm-cpu?"),
        (["env", "remove"], "Nothing was named to remove."),
    ],
    ids=" ".join,
)
def test_mistakes_end_with_code_2_and_a_message(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, seen = run(*words, capsys=capsys)
    assert code == errors.InputError.exit_code == 2
    assert says in seen
    assert "Traceback" not in seen


def test_variables_of_the_environment_are_not_taken_for_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RUN", "CHECK", "ENV", "VERSION", "version"):
        monkeypatch.setenv(name, "1")
    assert run(capsys=capsys)[0] == 0
    assert run("--version", capsys=capsys) == (0, f"weighbridge {__version__}\n")


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ALL["doctor",], "cli_cmd", interrupted)
    assert run("doctor", capsys=capsys) == (130, "Stopped.\n")


def test_a_reader_that_has_enough_is_no_error() -> None:
    command = f"{sys.executable} -m pipeline.cli --help | head -1; echo ${{PIPESTATUS[0]}}"
    seen = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert seen.stderr == ""
    assert seen.stdout.splitlines()[-1] in ("0", str(app.PIPE_CLOSED))


def test_doctor_says_what_runs_and_why_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path))
    code, seen = run("doctor", capsys=capsys)
    assert code == 0
    assert re.search(r"vllm-cpu +(not set up: weighbridge env setup vllm-cpu|not possible here: )", seen)
    assert re.search(r"lane cpu +no: .*vllm-cpu", seen)
    assert re.search(r"site +yes: make preview", seen)


def test_the_table_of_exit_codes_is_that_of_the_errors() -> None:
    codes = re.findall(r"^\| (\d+) \| .", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    kinds: list[type[errors.WeighbridgeError]] = [errors.WeighbridgeError]
    kinds += errors.WeighbridgeError.__subclasses__()
    others = {0, app.INTERRUPTED, app.PIPE_CLOSED}
    assert {int(code) for code in codes} == {kind.exit_code for kind in kinds} | others
