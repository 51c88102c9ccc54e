"""Generated reference: glossary of formulas, data dictionary, downloads, and the tree of the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from pipeline.site.expression import names, shown
from pipeline.site.formulas import FORMULAS, Formula
from pipeline.site.html import one_block, table
from pipeline.site.numbers import written


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
    rows = [
        [f'<a href="{root}{path}" download>{path}</a>', written(size / 1024, "number", "KiB")]
        for path, size in files
    ]
    return one_block(table(["File", "Size"], rows, numeric=(1,)))


def package_tree(package: Path) -> str:
    """The package as a tree: every folder and module with the first line of its docstring."""
    lines = [f"{package.name}/", *_tree(package, "  ")]
    return f"\n\n```text\n{chr(10).join(lines)}\n```\n\n"


def _tree(folder: Path, indent: str) -> Iterator[str]:
    entries = sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name))
    for path in entries:
        if path.is_dir() and (path / "__init__.py").exists():
            yield _entry(f"{indent}{path.name}/", path / "__init__.py")
            yield from _tree(path, indent + "  ")
        elif path.suffix == ".py" and path.stem != "__init__":
            yield _entry(f"{indent}{path.name}", path)


def _entry(name: str, module: Path) -> str:
    return f"{name:<26}  {_first_line(module)}".rstrip()


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return doc.splitlines()[0] if doc else ""
