"""`weighbridge env`: set up, list and remove the environments of the measured tools."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import CliApp, CliPositionalArg, CliSubCommand

from pipeline.environments import BY_DEFAULT, CATALOGUE, Spec, folder, set_up_all, shelf, spec
from pipeline.errors import InputError


def _chosen(names: list[str]) -> list[Spec]:
    return [spec(name) for name in names] if names else list(BY_DEFAULT)


class EnvSetup(BaseModel):
    """Install environments; what is in place stays, what was interrupted goes on."""

    names: CliPositionalArg[list[str]] = Field(
        default=[], description="environments to set up; when none is named, those that the cpu lane needs"
    )

    def cli_cmd(self) -> None:
        """Set up, then say what is in place."""
        for one in set_up_all(_chosen(self.names)):
            print(shelf.describe(one.spec))


class EnvList(BaseModel):
    """Show every environment: whether it is in place, its versions, and old ones that may go."""

    def cli_cmd(self) -> None:
        """Print one line for each."""
        for one in CATALOGUE.values():
            print(shelf.describe(one))
        for old in shelf.outdated():
            print(f"{old.name}: {shelf.size_gib(old):.1f} GiB, not used by this checkout")


class EnvRemove(BaseModel):
    """Delete environments from the cache folder, which all clones of this repository share."""

    names: CliPositionalArg[list[str]] = Field(default=[], description="environments to delete")
    outdated: bool = Field(default=False, description="delete those that this checkout does not use")
    everything: bool = Field(default=False, description="delete every environment")

    def cli_cmd(self) -> None:
        """Delete, and name what went."""
        roots = self._roots()
        shelf.remove(roots)
        print("\n".join(f"removed {root}" for root in roots) or "There was nothing to remove.")

    def _roots(self) -> list[Path]:
        if self.everything:
            return shelf.everything()
        if not self.names and not self.outdated:
            raise InputError(
                "Nothing was named to remove.",
                next_step=f"name some of {', '.join(CATALOGUE)}, or give --outdated or --everything",
            )
        named = [folder(spec(name)) for name in self.names]
        return [root for root in named if root.exists()] + (shelf.outdated() if self.outdated else [])


class EnvCommand(BaseModel):
    """Set up, list or remove the environments of the measured tools."""

    setup: CliSubCommand[EnvSetup]
    list: CliSubCommand[EnvList]
    remove: CliSubCommand[EnvRemove]

    def cli_cmd(self) -> None:
        """Run the part that was named."""
        CliApp.run_subcommand(self)
