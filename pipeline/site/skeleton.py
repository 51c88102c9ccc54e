"""Skeletons of a new question page and a new claim: they pass every check, and say what to replace."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from pipeline.errors import InputError
from pipeline.schemas.words import Level, Topic
from pipeline.site.claims import Standing
from pipeline.site.index import Waiting

FOLDER = Path(__file__).with_name("skeletons")
REPLACE = "REPLACE:"
_FILLERS = frozenset("a an the do does did is are to of for in on at and or it what which".split())
WORDS_IN_ADDRESS = 6
CLAIM_ID = re.compile(r"[MR]\d\d")


@dataclass(frozen=True)
class NewQuestion:
    """What a new page starts from.

    Attributes:
        title: the question as asked.
        number: its place in the list.
        topic: where it belongs.
        level: for whom.
        claims: claims it settles, at least one.
    """

    title: str
    number: int
    topic: Topic
    level: Level
    claims: tuple[str, ...]


def address_of(title: str) -> str:
    """The file name of a page, which is its address: `can-70b-model-live-24-gb`.

    Raises:
        InputError: the title holds too little to make an address of.
    """
    words = re.findall(r"[a-z0-9]+", title.lower())
    kept = [word for word in words if word not in _FILLERS] or words
    if len(title.strip()) < 8 or not kept or re.search(r"[<>\n]", title):
        raise InputError(
            f"{title!r} is no question to make a page of",
            next_step='give the question as asked, in plain words: weighbridge new question "When ...?"',
        )
    return "-".join(kept[:WORDS_IN_ADDRESS])


def chosen(
    title: str, topic: Topic | None, level: Level, claims: Collection[str], waiting: Collection[Waiting],
    known: Mapping[str, Standing], taken: Collection[int],
) -> NewQuestion:  # fmt: skip
    """A question with everything decided: a waiting question of that title brings number, topic and claims."""
    listed = next((each for each in waiting if each.title.casefold() == title.casefold()), None)
    subject: Topic = topic or (listed.topic if listed else "memory")
    free = max([*taken, *(each.number for each in waiting)], default=0) + 1
    settled = tuple(claims) or (listed.claims if listed else ())
    settled = settled or tuple(name for name, each in known.items() if each.topic == subject)[:1]
    return NewQuestion(title, listed.number if listed else free, subject, level, settled)


def question_text(new: NewQuestion, known: Mapping[str, Standing]) -> str:
    """The page as it is first written."""
    written_for = ", ".join(f"{claim}: {known[claim].verdict}" for claim in new.claims)
    return Template((FOLDER / "question.md").read_text(encoding="utf-8")).substitute(
        number=new.number,
        title=json.dumps(new.title, ensure_ascii=False),
        topic=new.topic,
        level=new.level,
        written_for=written_for,
    )


def claim_text(name: str, topic: Topic) -> str:
    """The claim file as it is first written.

    Raises:
        InputError: the name is none a claim can have.
    """
    if not CLAIM_ID.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of a claim",
            next_step="M and two digits (memory, latency, cost) or R and two digits (routing): M26",
        )
    return Template((FOLDER / "claim.toml").read_text(encoding="utf-8")).substitute(id=name, topic=topic)


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet.

    Raises:
        InputError: it is; nothing is changed.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            "this file exists already", where=str(path), next_step="choose another title or edit the file"
        ) from None


def left_to_replace(text: str) -> list[int]:
    """Lines that still hold a skeleton's words, from 1."""
    return [number for number, line in enumerate(text.splitlines(), 1) if REPLACE in line]
