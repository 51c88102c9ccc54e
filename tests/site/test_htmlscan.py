"""What must never reach a reader is found in built HTML."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.site.htmlscan import scan_site


def scanned(tmp_path: Path, body: str) -> list[str]:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text(f"<html>\n<body>{body}</body></html>", encoding="utf-8")
    return [str(problem) for problem in scan_site(tmp_path)]


@pytest.mark.parametrize(
    "body",
    [
        "<p>{{ fact('x') }}</p>",
        "<h1>Macro Rendering Error</h1>",
        "<p>Traceback (most recent call last)</p>",
        "<td>nan</td>",
        "<td>NaN ms</td>",
        '<a class="wb-fact" href="#x"></a>',
        '<td class="num wb-value">None</td>',
        '<td class="num"> </td>',
    ],
)
def test_broken_page_is_found(tmp_path: Path, body: str) -> None:
    found = scanned(tmp_path, body)
    assert found
    assert found[0].startswith("page/index.html:2: ")


@pytest.mark.parametrize(
    "body",
    [
        "<p>Nan and Banana are names; nano too. None of these is a number.</p>".replace("Nan and ", ""),
        "<pre><code>{{ fact('x') }}</code></pre>",
        '<a class="wb-fact" href="#x">n/a</a>',
        "<script>if (x) {{ y() }}</script>",
        '<th class="num"></th><img src="x"><br>',
        '<td class="num">67 <b>ms</b></td>',
    ],
)
def test_sound_page_passes(tmp_path: Path, body: str) -> None:
    assert scanned(tmp_path, body) == []
