"""`weighbridge`: its commands, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    CliApp,
    CliSubCommand,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    get_subcommand,
)

from pipeline import __version__
from pipeline.cli.build import BuildCommand
from pipeline.cli.check import CheckCommand
from pipeline.cli.cost import CostCommand
from pipeline.cli.doctor import DoctorCommand
from pipeline.cli.env import EnvCommand
from pipeline.cli.fit import FitCommand
from pipeline.cli.gpu import GpuCommand
from pipeline.cli.preview import PreviewCommand
from pipeline.cli.query import QueryCommand
from pipeline.cli.run import RunCommand
from pipeline.cli.runs import RunsCommand
from pipeline.errors import InputError, WeighbridgeError

INTERRUPTED = 130
PIPE_CLOSED = 141


class Weighbridge(BaseSettings):
    """Measure LLM serving on this machine, and build the knowledge base from the measurements."""

    model_config = SettingsConfigDict(
        cli_prog_name="weighbridge",
        cli_kebab_case=True,
        cli_implicit_flags="toggle",
        cli_enforce_required=True,
        cli_avoid_json=True,
        cli_hide_none_type=True,
        cli_use_class_docs_for_groups=True,
        extra="forbid",
    )

    version: bool = Field(default=False, description="print the version and exit")
    run: CliSubCommand[RunCommand]
    build: CliSubCommand[BuildCommand]
    check: CliSubCommand[CheckCommand]
    preview: CliSubCommand[PreviewCommand]
    query: CliSubCommand[QueryCommand]
    fit: CliSubCommand[FitCommand]
    cost: CliSubCommand[CostCommand]
    runs: CliSubCommand[RunsCommand]
    env: CliSubCommand[EnvCommand]
    gpu: CliSubCommand[GpuCommand]
    doctor: CliSubCommand[DoctorCommand]

    @classmethod
    def settings_customise_sources(cls, *_: object, **__: object) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments only: an environment variable called RUN or CHECK is none of this command's business."""
        return ()

    def cli_cmd(self) -> None:
        """Run the command that was named; without one, print help."""
        if self.version:
            print(f"weighbridge {__version__}")
        elif get_subcommand(self, is_required=False) is None:
            CliApp.print_help(type(self))
        else:
            CliApp.run_subcommand(self)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Returns:
        The exit code: 0, or that of the error as `pipeline.errors` documents it; 130 after Ctrl-C, and 141
        when the reader of the output has gone.
    """
    try:
        CliApp.run(Weighbridge, cli_args=None if arguments is None else list(arguments))
        sys.stdout.flush()
    except WeighbridgeError as error:
        return _fail(error)
    except ValidationError as error:
        return _fail(_as_input_error(error))
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output, such as `head`, has enough; nothing is left to flush it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return 0


def _fail(error: WeighbridgeError) -> int:
    print(error.message, file=sys.stderr)
    return error.exit_code


def _as_input_error(error: ValidationError) -> InputError:
    """The first wrong argument, in the words of the schema that refused it."""
    first = error.errors(include_url=False)[0]
    option = ".".join(str(part) for part in first["loc"]).replace("_", "-")
    return InputError(
        f"{option}: {first['msg']}",
        where=f"given: {first['input']!r}",
        next_step="weighbridge --help",
    )
