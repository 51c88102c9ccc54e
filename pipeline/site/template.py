"""What a page's text asks for: macros it calls, with line and plain arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import Environment, TemplateSyntaxError, nodes

from pipeline.site.problems import Problem

_CALL_BLOCK = re.compile(r"\{%-?\s*call\s+(\w+)\((.*?)\)\s*-?%\}(.*?)\{%-?\s*endcall\s*-?%\}", re.DOTALL)


@dataclass(frozen=True)
class MacroCall:
    """One call of a macro.

    Args:
        name: the macro.
        arguments: its plain arguments, as text.
        line: line of the file, from 1.
    """

    name: str
    arguments: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Block:
    """A block such as `{% call say("30 seconds") %} words {% endcall %}`."""

    name: str
    argument: str
    words: str
    line: int


def calls(body: str, first_line: int) -> list[MacroCall]:
    """All macro calls of a text.

    Raises:
        TemplateSyntaxError: the text is not a template.
    """
    tree = Environment(autoescape=True).parse(body)
    return [
        MacroCall(node.node.name, _plain(node), node.lineno + first_line - 1)
        for node in tree.find_all(nodes.Call)
        if isinstance(node.node, nodes.Name)
    ]


def syntax_problem(name: str, error: TemplateSyntaxError, first_line: int) -> Problem:
    """A template error as a problem of its page."""
    return Problem(name, error.lineno + first_line - 1, f"the page's macros cannot be read: {error.message}")


def call_blocks(body: str, first_line: int) -> Iterator[Block]:
    """Blocks that wrap words."""
    for match in _CALL_BLOCK.finditer(body):
        line = first_line + body.count("\n", 0, match.start())
        yield Block(match[1], match[2].strip(" \"'"), match[3], line)


def word_count(text: str) -> int:
    """Words to be spoken; a macro or a {name} is one word."""
    flat = re.sub(r"\{\{.*?\}\}|\{[^{}]*\}", "number", text, flags=re.DOTALL)
    return len(re.findall(r"\w[\w'’.,×%-]*", flat))


def _plain(node: nodes.Call) -> tuple[str, ...]:
    return tuple(str(arg.value) for arg in node.args if isinstance(arg, nodes.Const))
