"""`weighbridge`: its commands, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pydantic import Field, ValidationError, create_model
from pydantic_settings import (
    BaseSettings,
    CliApp,
    CliSubCommand,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    get_subcommand,
)

from pipeline import __version__
from pipeline.errors import InputError, WeighbridgeError

INTERRUPTED = 130
PIPE_CLOSED = 141
COMMANDS = {
    "run": ("pipeline.cli.run", "RunCommand"),
    "build": ("pipeline.cli.build", "BuildCommand"),
    "check": ("pipeline.cli.check", "CheckCommand"),
    "preview": ("pipeline.cli.preview", "PreviewCommand"),
    "new": ("pipeline.cli.new", "NewCommand"),
    "query": ("pipeline.cli.query", "QueryCommand"),
    "fit": ("pipeline.cli.fit", "FitCommand"),
    "cost": ("pipeline.cli.cost", "CostCommand"),
    "runs": ("pipeline.cli.runs", "RunsCommand"),
    "traces": ("pipeline.cli.traces", "TracesCommand"),
    "env": ("pipeline.cli.env", "EnvCommand"),
    "gpu": ("pipeline.cli.gpu", "GpuCommand"),
    "night": ("pipeline.cli.night", "NightCommand"),
    "doctor": ("pipeline.cli.doctor", "DoctorCommand"),
}
"""Command to where its class is; only the one that is called is imported, so that it starts at once."""


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


def command_line(first: Sequence[str] = ()) -> type[Weighbridge]:
    """The command line: with the one command that the first argument names, else with all of them."""
    names = [name for name in first if name in COMMANDS] or list(COMMANDS)
    classes = {name: getattr(import_module(COMMANDS[name][0]), COMMANDS[name][1]) for name in names}
    subcommand: Any = CliSubCommand
    fields: dict[str, Any] = {name: (subcommand[each], ...) for name, each in classes.items()}
    return create_model("Weighbridge", __base__=Weighbridge, __doc__=Weighbridge.__doc__, **fields)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Returns:
        The exit code: 0, or that of the error as `pipeline.errors` documents it; 130 after Ctrl-C, and 141
        when the reader of the output has gone.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        CliApp.run(command_line(given[:1]), cli_args=given)
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
