"""The flow goes one way: no room imports anything to its right."""

import ast
from pathlib import Path

from pipeline.paths import PACKAGE

# Rooms of equal rank do not import each other either, except inside a pair that is named here.
RANK = {
    "errors": 0,
    "paths": 0,
    "schemas": 0,
    "process": 1,
    "environments": 1,
    "plan": 2,
    "telemetry": 2,
    "catalogue": 3,
    "engines": 3,
    "routers": 3,
    "load": 3,
    "lanes": 4,
    "derived": 4,
    "fleet": 3,
    "run": 5,
    "store": 5,
    "analysis": 6,
    "site": 7,
    "cli": 8,
}


def room(module: str) -> str:
    return module.split(".")[1] if module.count(".") else ""


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipeline."):
            found.add(room(node.module or ""))
        if isinstance(node, ast.Import):
            found |= {room(alias.name) for alias in node.names if alias.name.startswith("pipeline.")}
    return found


def test_every_room_has_a_place_in_the_flow() -> None:
    rooms = {p.stem for p in PACKAGE.iterdir() if (p / "__init__.py").exists() or p.suffix == ".py"}
    assert rooms - {"__init__"} <= set(RANK)


def test_no_room_imports_to_its_right() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        others = [other for other in imports(path) if own in RANK and other in RANK and other != own]
        wrong += [f"{path} imports {other}" for other in others if RANK[other] >= RANK[own]]
    assert not wrong
