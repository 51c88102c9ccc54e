"""The front matter of a practice page: numbers of its own, without a question and without a verdict."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored
from pipeline.schemas.question import CalcSpec, Contrast, FactSpec, Question
from pipeline.schemas.words import Level, Outcome, Topic


class Box(Authored):
    """One box of a design picture; its place in the wide picture is a column and a row of a grid."""

    title: str = Field(min_length=2, description="what stands there")
    lines: tuple[str, ...] = Field((), description="what it holds or does; may use {fact}")
    column: int = Field(ge=1, le=3, description="column of the wide picture, from 1")
    row: int = Field(ge=1, le=6, description="row of the wide picture, from 1")


class Arrow(Authored):
    """What goes from one box to another."""

    source: str = Field(description="box it leaves")
    target: str = Field(description="box it reaches")
    label: str = Field("", description="what goes along it; may use {fact}")


class Picture(Authored):
    """A design as boxes and arrows; drawn once for wide windows and once for phones."""

    title: str = Field(min_length=8, description="what the picture shows, read out in its place")
    boxes: dict[str, Box] = Field(min_length=2)
    arrows: tuple[Arrow, ...] = ()

    @property
    def texts(self) -> list[str]:
        """All words that the picture shows."""
        boxes = [text for box in self.boxes.values() for text in (box.title, *box.lines)]
        return [self.title, *boxes, *(arrow.label for arrow in self.arrows)]

    @model_validator(mode="after")
    def _arrows_between_boxes(self) -> Self:
        ends = {end for arrow in self.arrows for end in (arrow.source, arrow.target)}
        if strangers := ends - set(self.boxes):
            raise ValueError(f"arrows to or from boxes that are not there: {', '.join(sorted(strangers))}")
        return self


class Sheet(Question):
    """A page under Practice. Everything a question needs and practice does not has an empty default."""

    title: str = Field(min_length=3, description="title of the page")
    number: int = Field(0, description="practice pages are not numbered")
    topic: Topic = "craft"
    level: Level = "mid"
    written_for: dict[str, Outcome] = Field(default_factory=dict)
    answer: str = ""
    facts: dict[str, FactSpec] = Field(default_factory=dict)
    calcs: dict[str, CalcSpec] = Field(default_factory=dict)
    contrasts: dict[str, Contrast] = Field(default_factory=dict)
    pictures: dict[str, Picture] = Field(default_factory=dict)
    hide: tuple[str, ...] = Field((), description="parts of the page that the theme leaves out")
    search: dict[str, Any] = Field(default_factory=dict, description="how the theme indexes the page")
