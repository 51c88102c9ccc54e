"""Generated reference: glossary of formulas, data dictionary, downloads, and the tree of the package."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from pipeline.site.blocks import inline
from pipeline.site.expression import names, shown
from pipeline.site.formulas import FORMULAS, Formula
from pipeline.site.html import one_block, table
from pipeline.site.numbers import written

PACKAGE = "pipeline"


def formula_list() -> str:
    """Every formula in words, with its inputs and a worked example."""
    return one_block("".join(_formula(name, formula) for name, formula in FORMULAS.items()))


def _formula(name: str, formula: Formula) -> str:
    unit = f" ({formula.unit})" if formula.unit else ""
    inputs = "; ".join(f"{key.replace('_', ' ')}: {words}" for key, words in formula.inputs.items())
    return (
        f'<section class="wb-formula" id="formula-{name.replace("_", "-")}"><h3>{formula.title}{unit}</h3>'
        f'<p>{formula.meaning}</p><div class="wb-board">'
        f"{_line(formula.title, formula.text)}{_line('for example', _example(formula))}</div>"
        f'<p class="wb-note">{escape(inputs)}. In a page: <code>formula: {name}</code></p></section>'
    )


def _line(title: str, text: str) -> str:
    return f'<div class="wb-line"><span class="wb-title">{title}</span><span>{text}</span></div>'


def _example(formula: Formula) -> str:
    parts = {name: written(formula.example[name]) for name in names(formula.expression)}
    result = written(formula.value(**formula.example), formula.style, formula.unit)
    return f"{shown(formula.expression, parts)} = {result}"


def dictionary(columns: Sequence[tuple[str, str, str, str]]) -> str:
    """Every view with its columns, types and meanings."""
    blocks = []
    for view, group in groupby(columns, key=lambda column: column[0]):
        rows = [[f"<code>{name}</code>", kind, escape(words)] for _, name, kind, words in group]
        body = table(["Column", "Type", "Meaning"], rows)
        blocks.append(
            f'<details class="wb-view" id="view-{view}"><summary><b>{view}</b> '
            f"<span>{len(rows)} columns</span></summary>{body}</details>"
        )
    return one_block("".join(blocks))


def downloads(files: Sequence[tuple[str, int]], root: str) -> str:
    """Exported files, each with its size.

    Args:
        files: (path below the site, bytes).
        root: address of the site's top from the page.
    """
    if not files:
        return one_block('<p class="wb-note">No exports in this build.</p>')
    rows = [[f'<a href="{root}{path}" download>{Path(path).name}</a>', _size(size)] for path, size in files]
    return one_block(table(["File", "Size"], rows, numeric=(1,)))


def _size(size: int) -> str:
    return written(size / 1024, "number", "KiB") if size >= 1024 else written(size, "integer", "B")


def package_tree(package: Path) -> str:
    """The package as a tree: every room with its modules, each with the first line of its docstring."""
    rooms = [path for path in sorted(package.iterdir()) if (path / "__init__.py").exists()]
    inner = _modules(package) + "".join(_room(room) for room in rooms)
    return one_block(
        f"<details class='wb-room' open><summary><b>{package.name}/</b></summary>{inner}</details>"
    )


def _room(folder: Path) -> str:
    return (
        f'<details class="wb-room"><summary><b>{folder.name}/</b> '
        f"<span>{_words(folder / '__init__.py')}</span></summary>{_modules(folder)}</details>"
    )


def _modules(folder: Path) -> str:
    """Modules of a folder, those of folders inside it with their path."""
    inside = sorted(folder.glob("*.py") if folder.name == PACKAGE else folder.rglob("*.py"))
    rows = [
        [f"<code>{path.relative_to(folder)}</code>", _words(path)]
        for path in inside
        if path.name != "__init__.py"
    ]
    return table(["Module", "Job"], rows)


def _words(path: Path) -> str:
    return inline(escape(_first_line(path)))


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return doc.splitlines()[0] if doc else ""
