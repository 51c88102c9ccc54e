"""The front matter of a question page: what it asks, what it measures, what it was written for.

A page is one Markdown file. Everything a reader sees as a number is named here as a fact or a chart,
each a SQL query over the documented views; `pipeline.site.frontmatter` reads it and names file and line of
a mistake.

A query of a measured lane returns one row for each repeat: columns `run_id`, `repeat` and `value` (facts) or
the columns its encodings name (charts). The site takes the median, and the smallest and largest as interval.
A query of a computed lane returns one row for a fact or a point of a chart: its value, with `low`, `high` and
`n` where the lane knows them, and `dated` and `versions` where the rows have their own. On the published lane
a point may have several rows, one for each sweep.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored
from pipeline.schemas.words import Lane, Level, Outcome, Topic

Style = Literal["integer", "number", "percent", "times"]
"""integer 12,288; number, three significant digits; percent 90.5 %; times 2.4×."""


class FactSpec(Authored):
    """One number of a page."""

    label: str = Field(min_length=3, description="what the number is, in words, for the evidence table")
    lane: Lane = Field(description="evidence lane the number comes from")
    unit: str = Field("", description="unit shown after the number, empty for a share or a ratio")
    format: Style = Field("number", description="how the number is written")
    absent: str = Field("n/a", description="words where the query finds its row but no value in it")
    sql: str = Field(min_length=8, description="query giving columns run_id, repeat, value")


class CalcSpec(Authored):
    """One line of whiteboard arithmetic."""

    formula: str = Field(min_length=1, description="a formula of the glossary, or arithmetic over the inputs")
    inputs: dict[str, str] = Field(
        min_length=1,
        description="each input: a fact, an earlier line, or a given number such as '12 prefixes'",
    )
    title: str | None = Field(None, description="left of the equals sign; a known formula brings its own")
    unit: str | None = Field(None, description="unit of the result; a known formula brings its own")
    format: Style | None = Field(None, description="how the result is written")
    against: str | None = Field(None, description="fact, line or given number to compare the result with")
    note: str = Field("", description="words after the result; may use {fact}")


class Axis(Authored):
    """One encoded quantity of a chart."""

    column: str = Field(description="column of the query")
    title: str = Field(description="quantity in words, without the unit")
    unit: str = Field("", description="unit, shown in brackets")
    format: Style = Field("number", description="how values are written")
    scale: Literal["linear", "log"] = Field("linear", description="log is announced in the axis title")


class Grouping(Authored):
    """What tells lines, bars or panels apart: a column and the order of its values."""

    column: str = Field(description="column of the query")
    order: tuple[str, ...] = Field((), description="values in the order drawn; the rest follow as they come")
    suffix: str = Field("", description="words after a numeric value, as in '16 in flight'")


class NoiseOf(Authored):
    """Which A/A band a chart draws."""

    experiment: str
    metric: str = Field(description="column of observations")


class Reference(Authored):
    """A value that a chart's measured quantity is compared with."""

    value: float = Field(description="where the line lies, in the unit of the measured axis")
    label: str = Field(min_length=2, description="what it is, written beside the line")


class ColumnSpec(Authored):
    """One column of a page's table."""

    title: str = Field(description="head of the column, in words, without the unit")
    unit: str = Field("", description="unit, shown in brackets in the head")
    format: Style | Literal["text", "year"] = Field("number", description="how values are written")


class TableSpec(Authored):
    """A table on a page: a query, and how its columns are written."""

    title: str = Field(min_length=8, description="the finding; {fact} is replaced by that fact's value")
    caption: str = Field("", description="what the rows are, and where they come from")
    lane: Lane
    columns: dict[str, ColumnSpec] = Field(min_length=1, description="columns of the query, in order")
    sql: str = Field(min_length=8, description="query giving these columns, one row for each line")


class ChartSpec(Authored):
    """One chart: a query, how it is drawn, and the finding that is its title."""

    title: str = Field(min_length=8, description="the finding; {fact} is replaced by that fact's value")
    caption: str = Field(min_length=8, description="what is plotted, for whom, at what setting")
    kind: Literal["line", "bar", "dots", "grid"] = Field(
        description="line over a quantity; bars over named things; dots, one for each row, over named "
        "things; or a grid over two quantities, coloured by what wins there"
    )
    lane: Lane
    x: Axis = Field(
        description="quantity along a line chart or a grid; the measured quantity of bars and dots"
    )
    y: Axis | None = Field(None, description="measured quantity of a line chart; the other side of a grid")
    cell: Axis | None = Field(None, description="quantity written in each cell of a grid")
    series: Grouping = Field(description="lines, bars or rows of dots; of a grid what colours a cell")
    reference: Reference | None = Field(None, description="a line to compare with, such as an objective")
    panel: Grouping | None = Field(None, description="small multiples")
    noise: NoiseOf | None = Field(None, description="A/A band to draw, none if the metric has no twins")
    sql: str = Field(min_length=8, description="query giving run_id, repeat and the encoded columns")

    @property
    def measured(self) -> Axis:
        """The axis that carries the measured quantity."""
        if self.kind == "grid":
            return self.cell if self.cell is not None else self.x
        return self.y if self.y is not None else self.x

    @model_validator(mode="after")
    def _axes_of_its_kind(self) -> Self:
        needs = {"line": ("y",), "grid": ("y", "cell"), "bar": (), "dots": ()}[self.kind]
        for axis in needs:
            if getattr(self, axis) is None:
                raise ValueError(f"a {self.kind} needs the axis {axis}")
        return self


class Contrast(Authored):
    """What is said and what to say instead. All texts may use {fact}."""

    label: Literal["bad", "taught"] = Field(description="bad, or widely taught and wrong")
    says: str = Field(min_length=8, description="the sentence as people really say it")
    refuted: str = Field(min_length=8, description="the measurement that refutes it")
    right_when: str = Field(min_length=8, description="the case in which it would be right")
    good: str = Field(min_length=8, description="one or two sentences with a number and a condition")
    good_because: str = Field(min_length=8, description="why that answer is better")
    polite: str | None = Field(None, description="one polite sentence for when an interviewer says it")


class Question(Authored):
    """Front matter of one question page."""

    number: int = Field(ge=1, description="number in the list of questions")
    title: str = Field(min_length=8, description="the question as asked")
    topic: Topic
    level: Level
    written_for: dict[str, Outcome] = Field(
        min_length=1, description="claims of the page, each with the verdict the prose was written for"
    )
    answer: str = Field(min_length=8, description="the verdict in one sentence; may use {fact}")
    headline: str | None = Field(None, description="shorter finding for the home page; may use {fact}")
    facts: dict[str, FactSpec] = Field(default_factory=dict)
    charts: dict[str, ChartSpec] = Field(default_factory=dict)
    tables: dict[str, TableSpec] = Field(default_factory=dict)
    calcs: dict[str, CalcSpec] = Field(default_factory=dict)
    contrasts: dict[str, Contrast] = Field(min_length=1)
    redirect_from: tuple[str, ...] = Field((), description="old file names of the page, without .md")
    related: tuple[str, ...] = Field((), description="slugs of related pages")
