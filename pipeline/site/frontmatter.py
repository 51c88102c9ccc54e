"""Reading a question page: strict front matter, with file and line of every mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pipeline.schemas import question as schema
from pipeline.schemas.base import Authored
from pipeline.schemas.question import Question
from pipeline.site.problems import Problem, nearest, shown, unknown

FENCE = "---"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIELDS = sorted(
    {
        field
        for part in vars(schema).values()
        if isinstance(part, type) and issubclass(part, Authored)
        for field in part.model_fields
    }
)
"""Every field that front matter knows, for the nearest one to a mistake."""


@dataclass(frozen=True)
class PageSource:
    """A question page as written.

    Args:
        path: the Markdown file.
        name: path as shown in messages.
        question: its front matter.
        body: Markdown after the front matter.
        body_line: line of the file on which the body starts, from 1.
        text: the whole file.
    """

    path: Path
    name: str
    question: Question
    body: str
    body_line: int
    text: str

    @property
    def slug(self) -> str:
        """Last part of the page's address."""
        return self.path.stem

    def line_of(self, *keys: str) -> int:
        """Line of a front matter entry, from 1."""
        return _line(self._tree, keys)

    @cached_property
    def _tree(self) -> yaml.Node | None:
        return _parsed(_split(self.text)[0])


class Unreadable(Exception):
    """A page whose front matter cannot be used.

    Args:
        problems: what is wrong, each with file and line.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def read_page(path: Path, root: Path, schema: type[Question] = Question) -> PageSource:
    """Read and check one question page, or a practice page with the schema of those.

    Raises:
        Unreadable: the front matter is missing, not YAML, or does not fit the schema.
    """
    name = shown(path, root)
    text = text_of(path, name)
    front, body, body_line = _split_or_raise(text, name)
    tree = _compose(front, name)
    _refuse_duplicates(tree, name)
    return PageSource(path, name, _validate(front, tree, name, schema), body, body_line, text)


def text_of(path: Path, name: str) -> str:
    """A page's text.

    Raises:
        Unreadable: the file is not UTF-8; names the line that is not.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable([Problem(name, line, "this line is not UTF-8: save the file as UTF-8")]) from None


def question_files(docs: Path) -> list[Path]:
    """Question pages of a docs folder, the index left out, in order of name."""
    return sorted(path for path in (docs / "questions").glob("*.md") if path.stem != "index")


SHEETS = ("model-error.md", "simulator.md")
"""Pages outside practice that have numbers of their own."""


def practice_files(docs: Path) -> list[Path]:
    """Pages with numbers of their own and no question: practice, and pages about models and their error."""
    own = (docs / name for name in SHEETS)
    return sorted([*(docs / "practice").glob("*.md"), *(path for path in own if path.exists())])


def readable_pages(docs: Path) -> Iterator[PageSource]:
    """Question pages whose front matter can be used; the others are left out."""
    for path in question_files(docs):
        try:
            yield read_page(path, docs.parent)
        except Unreadable:
            continue


def body_of(text: str) -> tuple[str, int]:
    """Any page's Markdown without front matter, and the line on which it starts."""
    return (text, 1) if not text.startswith(FENCE) else _split(text)[1:]


def _split(text: str) -> tuple[str, str, int]:
    lines = text.splitlines(keepends=True)
    end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == FENCE)
    return "".join(lines[1:end]), "".join(lines[end + 1 :]), end + 2


def _split_or_raise(text: str, name: str) -> tuple[str, str, int]:
    fences = [line.strip() == FENCE for line in text.splitlines()]
    if not fences or not fences[0] or not any(fences[1:]):
        raise Unreadable(
            [Problem(name, 1, "a question page starts with front matter between two lines of ---")]
        )
    return _split(text)


def _compose(front: str, name: str) -> yaml.Node | None:
    try:
        return _parsed(front)
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark.line if error.problem_mark else 0) + 2
        raise Unreadable([Problem(name, line, f"front matter is not YAML: {error.problem}")]) from None


def _parsed(front: str) -> yaml.Node | None:
    """The tree of the front matter; libyaml is ten times as fast where it is there."""
    return yaml.compose(front, Loader=_LOADER)


def _refuse_duplicates(tree: yaml.Node | None, name: str) -> None:
    """YAML keeps the last of two equal keys in silence; a page with two facts of one name is a mistake."""
    problems = [Problem(name, line, f"{key!r} is written twice") for key, line in _doubles(tree)]
    if problems:
        raise Unreadable(problems)


def _doubles(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key.value, key.start_mark.line + 2
            seen.add(key.value)
            yield from _doubles(value)


def _validate(front: str, tree: yaml.Node | None, name: str, schema: type[Question]) -> Question:
    content: Any = yaml.load(front, Loader=_LOADER)  # noqa: S506 - a safe loader
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        raise Unreadable([_problem(item, tree, name) for item in error.errors()]) from None


def _problem(item: Any, tree: yaml.Node | None, name: str) -> Problem:
    keys = tuple(str(part) for part in item["loc"])
    return Problem(name, _line(tree, keys), f"field {'.'.join(keys) or '(all)'}: {_in_words(item)}")


def _in_words(item: Any) -> str:
    """What is wrong with a field, with the nearest word of the vocabulary where one was missed."""
    if item["type"] == "literal_error":
        words = re.findall(r"'([^']+)'", item["ctx"]["expected"])
        return unknown("word", str(item["input"]), words)
    if item["type"] == "extra_forbidden":
        return f"there is no such field{nearest(str(item['loc'][-1]), _FIELDS)}"
    if item["type"] == "missing":
        return "this field is missing"
    return str(item["msg"])


def _line(node: yaml.Node | None, keys: tuple[str, ...]) -> int:
    """Line of the deepest entry on the way to `keys`; the first line of front matter is line 2."""
    line = 2
    for key in keys:
        found = _child(node, key)
        if found is None:
            break
        line, node = found
    return line


def _child(node: yaml.Node | None, key: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line + 2, value
    if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
        child = node.value[int(key)]
        return child.start_mark.line + 2, child
    return None
