"""The requests of a cell, made from its workload fields alone: same fields, same bytes, everywhere.

Text is random characters of the model's alphabet; one character is one token, so lengths are exact. Prompts
are text and not token ids, because vllm-router's hash policies see only the length of an id list.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.schemas.cell import Workload

UNKNOWN = "\0"
LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Prompt:
    """One request.

    Args:
        text: the whole prompt as the engine sees it; answers that it repeats are stood for by `UNKNOWN`.
        new_text: what the client adds in this turn.
        prefix_id: which shared prefix it starts with, None for none.
        session_id: name of its session; a session of its own for traffic without sessions.
        turn: from 0.
    """

    text: str
    new_text: str
    prefix_id: int | None
    session_id: str
    turn: int


def make_prompts(workload: Workload) -> list[Prompt]:
    """All requests in dataset order.

    With `turns` above 1 the requests are `requests / turns` sessions of a chat: each turn's prompt holds all
    earlier turns and the answers to them.
    """
    if workload.turns > 1:
        return _sessions(workload)
    prefixes = [_text(workload, "prefix", i, workload.prefix_tokens) for i in range(workload.prefixes)]
    order = _prefix_order(workload)
    prompts = []
    for number in range(workload.requests):
        own = _text(workload, "own", number, workload.prompt_tokens)
        prefix = order[number] if order else None
        text = own if prefix is None else prefixes[prefix] + own
        prompts.append(Prompt(text, text, prefix, f"r{number:05d}", 0))
    return prompts


def prompts_jsonl(prompts: Iterable[Prompt], turns: int) -> bytes:
    """The dataset file that AIPerf reads; its bytes are what the workload hash is taken of."""
    if turns == 1:
        lines = [{"session_id": p.session_id, "text": p.text} for p in prompts]
        return _jsonl(lines)
    sessions: dict[str, list[dict[str, str]]] = {}
    for prompt in prompts:
        sessions.setdefault(prompt.session_id, []).append({"text": prompt.new_text})
    return _jsonl({"session_id": name, "turns": texts} for name, texts in sessions.items())


def _jsonl(lines: Iterable[object]) -> bytes:
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines).encode()


def _sessions(workload: Workload) -> list[Prompt]:
    prompts = []
    for session in range(workload.requests // workload.turns):
        text = ""
        for turn in range(workload.turns):
            new = _text(workload, f"session{session}", turn, workload.prompt_tokens)
            text += new
            prompts.append(Prompt(text, new, None, f"s{session:04d}", turn))
            text += UNKNOWN * workload.output_tokens
    return prompts


def _prefix_order(workload: Workload) -> list[int]:
    """Which prefix each request has: even shares in shuffled order, or Zipf draws."""
    if workload.prefixes == 0:
        return []
    shuffle = random.Random(f"order-{workload.seed}")  # noqa: S311 repeatable, not secret
    if workload.prefix_skew == 0:
        order = [number % workload.prefixes for number in range(workload.requests)]
        shuffle.shuffle(order)
        return order
    weights = [1.0 / (rank + 1) ** workload.prefix_skew for rank in range(workload.prefixes)]
    return shuffle.choices(range(workload.prefixes), weights, k=workload.requests)


def _text(workload: Workload, kind: str, number: int, length: int) -> str:
    source = random.Random(f"{workload.seed}-{workload.traffic}-{kind}-{number}")  # noqa: S311
    return "".join(source.choices(LETTERS, k=length))
