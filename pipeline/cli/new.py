"""`weighbridge new`: a page or a claim that passes every check from its first minute."""

from __future__ import annotations

from pydantic import BaseModel, Field
from pydantic_settings import CliApp, CliPositionalArg, CliSubCommand, get_subcommand

from pipeline.cli.build import chosen_workspace
from pipeline.errors import InputError
from pipeline.schemas.words import Level, Topic


class NewQuestionCommand(BaseModel):
    """Write the skeleton of a question page: it builds, and marks what to replace and what is optional."""

    title: CliPositionalArg[str] = Field(description="the question as asked, in quotes")
    topic: Topic | None = Field(None, description="where it belongs; that of the listed question, or memory")
    level: Level = Field("senior", description="for whom")
    claims: str = Field("", description="claims it settles, comma separated; the first decides its answer")

    def cli_cmd(self) -> None:
        """Write the file and say what comes next."""
        from pipeline.site import skeleton  # noqa: PLC0415
        from pipeline.site.index import waiting_questions  # noqa: PLC0415
        from pipeline.site.lint import numbers_taken  # noqa: PLC0415
        from pipeline.site.loading import load  # noqa: PLC0415
        from pipeline.site.problems import unknown  # noqa: PLC0415
        from pipeline.site.source import source_of  # noqa: PLC0415

        ws = chosen_workspace()
        docs = source_of(ws) / "docs"
        path = docs / "questions" / f"{skeleton.address_of(self.title)}.md"
        known = load(ws).claims
        claims = [each.strip() for each in self.claims.split(",") if each.strip()]
        for claim in claims:
            if claim not in known:
                raise InputError(unknown("claim", claim, known), next_step="weighbridge new claim ID")
        new = skeleton.chosen(
            self.title, self.topic, self.level, claims, waiting_questions(), known, numbers_taken(docs)
        )
        skeleton.write_new(path, skeleton.question_text(new, known))
        print(f"Wrote {path}: replace the lines marked {skeleton.REPLACE}")
        print(f"Then: weighbridge check {path}   and: weighbridge preview {path}")


class NewClaimCommand(BaseModel):
    """Write the skeleton of a claim file: not measured until it has a query and a rule."""

    id: CliPositionalArg[str] = Field(description="M or R and two digits that no claim has")
    topic: Topic = Field("memory", description="what it is about")

    def cli_cmd(self) -> None:
        """Write the file and say what comes next."""
        from pipeline.site import skeleton  # noqa: PLC0415

        path = chosen_workspace().claims / f"{self.id}.toml"
        skeleton.write_new(path, skeleton.claim_text(self.id, self.topic))
        print(f"Wrote {path}: replace the lines marked {skeleton.REPLACE}")
        print(f"Then: weighbridge check {path}")


class NewCommand(BaseModel):
    """Start a question page or a claim."""

    question: CliSubCommand[NewQuestionCommand]
    claim: CliSubCommand[NewClaimCommand]

    def cli_cmd(self) -> None:
        """Run the chosen command."""
        if get_subcommand(self, is_required=False) is None:
            raise InputError(
                "say what is new",
                next_step='weighbridge new question "When ...?" or weighbridge new claim M26',
            )
        CliApp.run_subcommand(self)
