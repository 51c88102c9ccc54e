"""Drawn charts and the Vega bundle, kept between builds: drawing costs most of a build and changes least."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.points import Points

Drawings = dict[str, tuple[dict[str, Any], str]]
"""Layout name to specification and picture."""


def kept_drawings(spec: ChartSpec, points: Points, title: str, cache: Path) -> Drawings:
    """A chart at all widths, drawn only if points, title, look, code or a drawing library changed.

    Args:
        spec: what the page asks for.
        points: what was measured.
        title: the finding as plain text.
        cache: folder that drawings are kept in.
    """
    inputs = [spec.model_dump_json(), repr(points.points), title]
    path = cache / f"chart-{_key(*inputs)}.json"
    if path.exists():
        return {name: (drawn, svg) for name, (drawn, svg) in json.loads(path.read_text("utf-8")).items()}
    # Altair takes a second to import, so a build that draws nothing does not.
    from pipeline.site.charts.drawing import drawings  # noqa: PLC0415

    made = drawings(spec, points, title)
    _keep(path, json.dumps(made))
    return made


def kept_bundle(cache: Path) -> str:
    """Vega, Vega-Lite and vega-embed as one script, exactly the release that draws the pictures."""
    path = cache / f"vega-{version('vl-convert-python')}.js"
    if not path.exists():
        import vl_convert  # noqa: PLC0415

        bundle: Any = vl_convert.javascript_bundle
        _keep(path, bundle())
    return path.read_text(encoding="utf-8")


def _key(*inputs: str) -> str:
    return hashlib.sha256("\n".join((_code(), *inputs)).encode()).hexdigest()[:24]


@functools.cache
def _code() -> str:
    """Everything but the inputs that a drawing depends on: this code and the libraries."""
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))
    return f"{version('altair')} {version('vl-convert-python')} {sources}"


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
