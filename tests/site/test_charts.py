"""Charts: points from rows, marks from points, nothing lost on the way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.schemas.question import ChartSpec
from pipeline.site.charts.drawing import drawings
from pipeline.site.charts.kept import kept_drawings
from pipeline.site.charts.layout import NARROW, WIDE
from pipeline.site.charts.lines import spread
from pipeline.site.charts.palette import HUES, hues, themed, variables
from pipeline.site.charts.points import Points, collect
from pipeline.site.facts import QueryShape
from tests.fixtures.rows import RUN_ID, computed_manifest, manifest

RUNS = {RUN_ID: manifest()}
LINE: dict[str, Any] = {
    "title": "The better router",
    "caption": "Hit rate by pool",
    "kind": "line",
    "lane": "cpu",
    "x": {"column": "pool", "title": "Pool", "unit": "tokens", "format": "integer", "scale": "log"},
    "y": {"column": "hit", "title": "Hit rate", "format": "percent"},
    "series": {"column": "policy", "order": ["cache_aware", "round_robin"]},
    "sql": "SELECT 1 AS x",
}
BAR = LINE | {
    "kind": "bar",
    "x": {"column": "hit", "title": "Hit rate", "format": "percent"},
    "y": None,
    "panel": {"column": "traffic"},
}
NOISE = pd.DataFrame(
    [("routing", "hit", "b" * 16, 0.02, 0.01), ("routing", "hit", "another host", 0.9, 0.9)],
    columns=["experiment", "metric", "host_id", "band_rel", "band_abs"],
)


def rows() -> pd.DataFrame:
    """Three repeats of two policies at two pools on one traffic."""
    values = {("cache_aware", 5120): 0.75, ("cache_aware", 8192): 0.9}
    values |= {("round_robin", 5120): 0.38, ("round_robin", 8192): 0.55}
    return pd.DataFrame(
        [
            (RUN_ID, repeat, policy, pool, "shared-even", value + 0.01 * (repeat - 2))
            for (policy, pool), value in values.items()
            for repeat in (1, 2, 3)
        ],
        columns=["run_id", "repeat", "policy", "pool", "traffic", "hit"],
    )


def points(spec: ChartSpec, frame: pd.DataFrame | None = None) -> Points:
    def ask(sql: str) -> pd.DataFrame:
        return NOISE if "noise" in sql else rows() if frame is None else frame

    return collect(spec, ask, RUNS, {"simulated": computed_manifest()})


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_point_is_the_median_with_its_interval() -> None:
    point = points(ChartSpec.model_validate(LINE)).points[0]
    assert (point.series, point.x) == ("cache_aware", 5120)
    assert point.value.value == pytest.approx(0.75)
    assert point.value.span == pytest.approx((0.74, 0.75, 0.76))
    assert point.value.n == 3


def test_band_is_that_of_the_host_of_the_run() -> None:
    spec = ChartSpec.model_validate(LINE | {"noise": {"experiment": "routing", "metric": "hit"}})
    assert points(spec).points[0].band == pytest.approx(0.75 * 0.02)
    assert not points(ChartSpec.model_validate(LINE)).banded


def test_line_chart_says_values_names_axes_and_draws_whiskers_and_band() -> None:
    spec = ChartSpec.model_validate(LINE | {"noise": {"experiment": "routing", "metric": "hit"}})
    for drawn, svg in drawings(spec, points(spec), "The better router").values():
        shown = texts(svg)
        for text in ("75.0%", "90.0%", "38.0%", "55.0%", "cache-aware", "round robin", "5,120", "Hit rate"):
            assert text in shown
        assert "Pool (tokens, log scale)" in shown
        assert {"mark-rule role-mark", "mark-area role-mark", "mark-line role-mark"} <= set(
            re.findall(r"mark-\w+ role-mark", svg)
        )
        assert max(row["band_high"] for row in drawn["datasets"]["points"]) == pytest.approx(0.9 * 1.02)


def test_bar_starts_at_zero_and_panels_have_their_titles() -> None:
    frame = pd.concat(
        [rows()[rows()["pool"] == 8192], rows()[rows()["pool"] == 5120].assign(traffic="unshared")]
    )
    spec = ChartSpec.model_validate(BAR)
    for drawn, svg in drawings(spec, points(spec, frame), "Bars").values():
        shown = texts(svg)
        for text in ("shared prefixes, even", "no shared prefix", "90.0%", "38.0%", "0%"):
            assert text in shown
        assert drawn["concat"][0]["encoding"]["x"]["scale"]["domain"][0] == 0


def test_each_width_has_a_drawing_that_fits() -> None:
    spec = ChartSpec.model_validate(LINE)
    made = drawings(spec, points(spec), "The better router")
    for layout in (WIDE, NARROW):
        box = re.search(r'viewBox="0 0 (\d+) (\d+)"', made[layout.name][1])
        assert box is not None
        assert int(box[1]) <= layout.width + 24


def test_missing_values_are_left_out_and_never_drawn_as_zero() -> None:
    frame = rows()
    frame.loc[frame["policy"] == "round_robin", "hit"] = None
    drawn = points(ChartSpec.model_validate(LINE), frame)
    assert drawn.series == ["cache_aware"]
    assert points(ChartSpec.model_validate(LINE), frame.assign(hit=None)).repeats == 0


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (rows().drop(columns="policy"), "does not give policy"),
        (pd.concat([rows(), rows()]), "mixes cells at cache_aware"),
        (rows().assign(repeat=101), "A/A twins"),
    ],
)
def test_query_of_the_wrong_shape_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(QueryShape, match=message):
        points(ChartSpec.model_validate(LINE), frame)


def test_drawing_is_kept_until_its_inputs_change(tmp_path: Path) -> None:
    spec = ChartSpec.model_validate(LINE)
    first = kept_drawings(spec, points(spec), "The better router", tmp_path)
    (kept,) = tmp_path.glob("chart-*.json")
    stamp = kept.stat().st_mtime_ns
    assert kept_drawings(spec, points(spec), "The better router", tmp_path) == first
    assert kept.stat().st_mtime_ns == stamp
    kept_drawings(spec, points(spec), "Another finding", tmp_path)
    assert len(list(tmp_path.glob("chart-*.json"))) == 2


def test_named_colours_stay_and_others_differ() -> None:
    chosen = hues(["cache_aware", "16", "round_robin", "8"])
    assert (chosen["cache_aware"].mark, chosen["round_robin"].mark) == ("#009E73", "#8a8f98")
    assert chosen["16"] != chosen["8"]
    assert hues(["cache-aware, engine silent"])["cache-aware, engine silent"].mark == "#009E73"


def test_every_colour_becomes_a_variable_that_both_themes_define() -> None:
    css = Path("docs/assets/charts.css").read_text() + Path("docs/assets/weighbridge.css").read_text()
    for variable in variables().values():
        name = variable.removeprefix("var(").removesuffix(")")
        assert css.count(f"{name}:") == 2, name
    assert themed(HUES[0].mark) == "var(--wb-m-blue)"


def test_labels_are_pushed_apart_in_order() -> None:
    assert spread([0.9, 0.5], 0.1) == [0.9, 0.5]
    lower, upper = spread([1.0, 1.0], 0.5)
    assert (lower, upper) == (0.75, 1.25)


GRID = LINE | {
    "kind": "grid",
    "lane": "simulated",
    "x": {"column": "share", "title": "Shared", "format": "percent"},
    "y": {"column": "load", "title": "Load", "format": "percent"},
    "cell": {"column": "gain", "title": "Memory replaced", "unit": "GiB"},
    "series": {"column": "winner", "order": ["routing", "memory"]},
}
CELLS = pd.DataFrame(
    [(0.1, 0.5, 2.0, "memory"), (0.9, 0.5, 31.5, "routing"), (0.1, 0.9, 4.0, "memory"), (0.9, 0.9, 77.0, "routing")],
    columns=["share", "load", "gain", "winner"],
)


def test_grid_writes_each_cell_and_names_its_colours_and_axes() -> None:
    spec = ChartSpec.model_validate(GRID)
    for drawn, svg in drawings(spec, points(spec, CELLS), "Where routing wins").values():
        assert set(texts(svg)) >= {"2", "31.5", "4", "77", "routing", "memory", "Shared", "Load", "10.0\xa0%", "90.0\xa0%"}
        assert len(drawn["datasets"]["points"]) == 4


def test_grid_refuses_two_rows_for_one_cell() -> None:
    spec = ChartSpec.model_validate(GRID)
    with pytest.raises(QueryShape, match="2 rows for one point"):
        points(spec, pd.concat([CELLS, CELLS.head(1)]))


DOTS = LINE | {
    "kind": "dots",
    "lane": "published",
    "x": {"column": "ratio", "title": "Throughput ratio", "format": "times"},
    "y": None,
    "series": {"column": "model"},
    "reference": {"value": 1.0, "label": "equal"},
}


def test_every_sweep_is_a_dot_beside_the_line_of_equality() -> None:
    spec = ChartSpec.model_validate(DOTS)
    frame = pd.DataFrame({"ratio": [1.3, 1.5, 0.9], "model": ["70B", "70B", "120B"]})
    drawn = points(spec, frame)
    assert [point.value.value for point in drawn.points] == [1.3, 1.5, 0.9]
    for _, svg in drawings(spec, drawn, "Ratios").values():
        assert {"equal", "70B", "120B"} <= set(texts(svg))


def test_a_chart_without_the_axis_its_kind_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="a grid needs the axis cell"):
        ChartSpec.model_validate(GRID | {"cell": None})
