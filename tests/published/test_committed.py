"""The committed tables, as a query sees them."""

from pipeline.analysis.views import query
from pipeline.paths import Workspace


def test_pairs_of_the_sample_and_what_is_left_out() -> None:
    [row] = query(
        Workspace(),
        "SELECT count(*) AS n, count(*) FILTER (WHERE left_out) AS flagged, "
        "count(DISTINCT sweep) AS sweeps, count(*) FILTER (WHERE gpu = 'H100') AS h100, "
        "(SELECT count(*) FROM pairs_clean) AS clean FROM pairs",
    ).to_dict("records")
    assert row == {"n": 304, "flagged": 131, "sweeps": 5, "h100": 0, "clean": 173}


def test_no_ratio_lacks_its_provenance() -> None:
    rows = query(Workspace(), "SELECT * FROM pairs WHERE label <> 'unofficial re-analysis' OR source = ''")
    assert rows.empty


def test_knob_explains_first_tokens_of_one_cell_group() -> None:
    found = query(
        Workspace(),
        "SELECT flags = 'scheduler_knob' AS knob, median(ttft_ratio) AS ratio FROM pairs "
        "WHERE model = 'Llama-3.1-70B' AND isl = 1024 AND osl = 1024 GROUP BY ALL ORDER BY knob",
    )
    assert list(found["knob"]) == [False, True]
    assert found["ratio"][0] < 1
    assert found["ratio"][1] > 1.5


def test_every_pair_of_near_days_is_counted_in_its_cell() -> None:
    found = query(
        Workspace(),
        "SELECT sum(n_pairs) AS near, count(*) AS cells FROM pair_dates WHERE measured_days_apart <= 21",
    )
    assert (found["near"][0], found["cells"][0]) == (221, 7)


def test_vendor_numbers_are_quoted_with_source() -> None:
    found = query(
        Workspace(), "SELECT * FROM quoted_throughput WHERE gpu = 'H100' AND model = 'Llama-3.3-70B'"
    )
    assert list(found["tok_s_per_gpu"]) == [2209.0]
    assert found["version"].isna().all()
    assert "585c756" in found["source"][0]
