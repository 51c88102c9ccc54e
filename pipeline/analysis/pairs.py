"""Views over the published pairs: without flagged ones, by sweep, and by the days of both measurements."""

from __future__ import annotations

from typing import Any

import duckdb

from pipeline.paths import Workspace
from pipeline.schemas.base import Strict
from pipeline.schemas.published import Pair, PairDates, PairSweep
from pipeline.store.columns import columns_of
from pipeline.store.views import View

_VERSIONS = """
    array_to_string(list_sort(list(DISTINCT
        'vLLM ' || coalesce(vllm_version, 'version not recorded')
        || CASE WHEN vllm_version_basis = 'inferred' THEN ' (inferred)' ELSE '' END
        || ', TensorRT-LLM ' || coalesce(trtllm_version, 'version not recorded')
        || CASE WHEN trtllm_version_basis = 'inferred' THEN ' (inferred)' ELSE '' END
        ) FILTER (WHERE NOT left_out)), '; ')
"""
_SWEEPS = f"""
    SELECT sweep, model, gpu, precision,
           count(*) FILTER (WHERE NOT left_out) AS n_pairs, count(*) FILTER (WHERE left_out) AS n_left_out,
           median(tpot_ratio) FILTER (WHERE NOT left_out) AS tpot_ratio,
           median(ttft_ratio) FILTER (WHERE NOT left_out) AS ttft_ratio,
           median(tok_s_per_gpu_ratio) FILTER (WHERE NOT left_out) AS tok_s_per_gpu_ratio,
           min(tok_s_per_gpu_ratio) FILTER (WHERE NOT left_out) AS tok_s_per_gpu_ratio_least,
           max(tok_s_per_gpu_ratio) FILTER (WHERE NOT left_out) AS tok_s_per_gpu_ratio_most,
           avg((tok_s_per_gpu_ratio > 1)::INT) FILTER (WHERE NOT left_out) AS share_faster,
           median(tpot_diff_ms) FILTER (WHERE NOT left_out) AS tpot_diff_ms,
           median(ttft_diff_ms) FILTER (WHERE NOT left_out) AS ttft_diff_ms,
           min(measured_on) FILTER (WHERE NOT left_out) AS measured_on,
           max(greatest(vllm_measured_on, trtllm_measured_on)) FILTER (WHERE NOT left_out) AS newest_on,
           {_VERSIONS} AS versions
    FROM pairs GROUP BY sweep, model, gpu, precision ORDER BY sweep
"""  # noqa: S608 - both parts are constants of this file
_DATES = """
    SELECT sweep, vllm_measured_on, trtllm_measured_on, any_value(measured_days_apart) AS measured_days_apart,
           count(*) AS n_pairs, count(*) FILTER (WHERE left_out) AS n_left_out,
           median(tpot_ratio) AS tpot_ratio, median(tok_s_per_gpu_ratio) AS tok_s_per_gpu_ratio
    FROM pairs GROUP BY ALL ORDER BY ALL
"""


def _view(name: str, description: str, row: type[Strict], sql: str) -> View:
    def make(_: Workspace, connection: duckdb.DuckDBPyConnection) -> Any:
        return connection.sql(sql).to_arrow_table()

    return View(name, description, tuple(columns_of(row)), make, ("pairs",))


PAIR_VIEWS: tuple[View, ...] = (
    _view(
        "pairs_clean",
        "Pairs that no flag leaves out; count what is missing in pairs.",
        Pair,
        "SELECT * FROM pairs WHERE NOT left_out",
    ),
    _view("pair_sweeps", "Sweeps of pairs: medians, range, and how many were left out.", PairSweep, _SWEEPS),
    _view("pair_dates", "Pairs by the days of both measurements.", PairDates, _DATES),
)
