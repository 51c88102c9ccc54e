"""The requests of a cell: exact lengths, the same bytes every time, the popularity asked for."""

from collections import Counter
from itertools import pairwise

from pipeline.load.ceiling import ceiling_tokens
from pipeline.load.workload import Prompt, make_prompts, prompts_jsonl
from pipeline.schemas.cell import Workload
from pipeline.schemas.identity import workload_hash


def workload(**changes: object) -> Workload:
    fields: dict[str, object] = {
        "traffic": "shared-even",
        "requests": 48,
        "concurrency": 4,
        "prompt_tokens": 16,
        "output_tokens": 8,
        "prefixes": 12,
        "prefix_tokens": 64,
        "seed": 7,
    }
    return Workload.model_validate(fields | changes)


def test_the_same_fields_give_the_same_bytes() -> None:
    first, second = (prompts_jsonl(make_prompts(workload()), 1) for _ in range(2))
    assert first == second
    # Golden: a change of this value breaks every comparison with earlier runs.
    assert workload_hash(first) == "74d21b920bce2f98"


def test_another_seed_gives_other_requests() -> None:
    assert prompts_jsonl(make_prompts(workload()), 1) != prompts_jsonl(make_prompts(workload(seed=8)), 1)


def test_even_traffic_uses_each_prefix_equally_often() -> None:
    counts = Counter(p.prefix_id for p in make_prompts(workload()))
    assert set(counts.values()) == {4}


def test_skewed_traffic_prefers_the_first_prefixes() -> None:
    prompts = make_prompts(workload(traffic="shared-skewed", requests=2000, prefix_skew=1.2))
    counts = Counter(p.prefix_id for p in prompts)
    # Zipf 1.2 over 12 ranks gives the first 38 % (1 / sum of r^-1.2).
    assert 0.34 < counts[0] / 2000 < 0.42
    assert counts[0] > counts[1] > counts[4]


def test_lengths_are_exact_and_unshared_prompts_share_no_block() -> None:
    assert {len(p.text) for p in make_prompts(workload())} == {80}
    alone = make_prompts(workload(traffic="unshared", prefixes=0, prefix_tokens=0, prompt_tokens=400))
    assert len({p.text[:32] for p in alone}) == len(alone)
    assert sum(ceiling_tokens(alone, 32)) == 0


def test_a_turn_holds_all_earlier_turns_of_its_session() -> None:
    prompts = make_prompts(
        workload(traffic="sessions", prefixes=0, prefix_tokens=0, prompt_tokens=64, turns=6)
    )
    assert len(prompts) == 48
    for before, after in pairwise(prompts):
        if after.session_id == before.session_id:
            assert after.text.startswith(before.text)
            # The answer of 8 tokens and 64 new ones.
            assert len(after.text) == len(before.text) + 8 + 64
            assert len(after.new_text) == 64
    assert prompts_jsonl(prompts, 6).count(b"\n") == 8


def test_ceiling_matches_the_arithmetic_of_the_routing_cell() -> None:
    """12 prefixes of 1,024 and 16 new tokens, 150 requests: (150 - 12) / 150 x 1,024 / 1,040 = 0.906."""
    prompts = make_prompts(workload(requests=150, prefix_tokens=1024))
    rate = sum(ceiling_tokens(prompts, 32)) / sum(len(p.text) for p in prompts)
    assert round(rate, 3) == 0.906


def test_ceiling_never_counts_the_last_token() -> None:
    same = [Prompt("a" * 64, "a" * 64, None, "x", 0), Prompt("a" * 64, "a" * 64, None, "y", 0)]
    assert ceiling_tokens(same, 32) == [0, 32]
