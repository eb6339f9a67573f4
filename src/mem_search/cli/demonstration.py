"""One question for ``quickstart`` to ask: drawn from what the person has, and known to be answered.

A decision is asked for first, then a command that failed, a document, a commit, and at last
whatever has a title. A question counts when the search answers it with what it was drawn from, or
with another of that sort.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mem_search.cli.client import Client
from mem_search.cli.search_options import MIXED, UNIFIED
from mem_search.patterns import pattern

SAMPLE: Final = "sample"
"""``model.SAMPLE``, whose module takes longer to import than ``--help`` may."""

_FILE: Final = "sample.jsonl"
"""Small worlds to try it on: a shop's sessions, notes, mail, saved pages. All are made up."""

_CANDIDATES: Final = 8
"""Newest records of a sort that are tried; each costs a search of some 20 ms."""
_MAX_WORDS: Final = 8
"""Of a topic: a question that somebody would type."""
_MIN_TELLING, _MAX_TELLING = 2, 4
"""Words of a topic that are no stop words: one word says too little to be a question."""

_MIN_LETTERS: Final = 2
"""A shorter word tells nothing by itself."""

_WORD: Final = pattern(r"[^\W_]+(?:[-'’][^\W_]+)*")
_CHOSEN: Final = pattern(
    r"^\W*(?:decision\b\W*)?(?:(?:i|we|let's|the user|user)\b.{0,40}?"
    r"\b(?:decide|decided|chose|choose|agreed|settled|opted|picked|going)\b"
    r"(?: (?:to|on|for|with)\b)?)?\s*",
    re.IGNORECASE,
)
"""How a decision begins before it says what was chosen."""
_REST: Final = pattern(
    r"[.;:,()\[\]—–!?\n\"]|\s-\s|\b(?:instead of|because|rather than|so that|over)\b",
    re.IGNORECASE,
)
"""Where the reason, or what was not chosen, begins."""
_LABEL: Final = pattern(r"^(?:re|fwd?|aw|wg|\w+(?:\([^)]*\))?!?): ", re.IGNORECASE)
"""``Re:`` of an answer, ``fix(auth):`` of a commit."""
_SAID: Final = {"note": "note", "email": "mail", "file": "document", "website": "page"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is typed, and what kind of thing it asks for, as people say it."""

    words: str
    asks_for: str


def sample() -> Iterator[dict[str, Any]]:
    """The records of the sample in the exchange format, the same each time."""
    for line in Path(__file__).with_name(_FILE).read_text("utf-8").splitlines():
        yield json.loads(line)


def question(client: Client) -> Question | None:
    """The best question that what is stored answers; None where nothing has a title.

    The sample is asked only where nothing else is. ``client`` sends no token, so that it is not
    logged: what nobody asked is no suggestion.
    """
    spare: Question | None = None
    for is_sample in (False, True):
        for asks_for, parameters, ask in _SORTS:
            hits = _search(client, UNIFIED, [*parameters, ("limit", f"{_CANDIDATES}")])
            hits = [each for each in hits if (each["source"] == SAMPLE) is is_sample]
            refs = {each["ref"] for each in hits}
            for hit in hits:
                if hit.get("caution") or not (words := ask(hit)):
                    continue
                asked = Question(words, asks_for)
                spare = spare or asked
                best = _search(client, MIXED[1].route, [("query", words), ("limit", "1")])
                if best and best[0]["ref"] in refs:
                    return asked
    return spare


def _search(client: Client, route: str, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = client.json("GET", route, [*pairs, ("format", "json")])["results"]
    return hits


def _topic(text: str) -> str:
    """The first words of ``text`` that a question can be about; "" where they say too little."""
    from mem_search.text.words import STOP_WORDS

    words: list[str] = []
    telling: set[str] = set()
    for word in _WORD.findall(_REST.split(_LABEL.sub("", text.strip()), maxsplit=1)[0]):
        if len(words) == _MAX_WORDS or len(telling) == _MAX_TELLING:
            break
        words.append(word)
        telling |= {word.lower()} - STOP_WORDS if len(word) > _MIN_LETTERS else set()
    while words and words[-1].lower() in STOP_WORDS:
        words.pop()
    return " ".join(words) if len(telling) >= _MIN_TELLING else ""


def _why(result: Mapping[str, Any]) -> str:
    topic = _topic(_CHOSEN.sub("", result["title"]))
    return f"why {topic[0].lower()}{topic[1:]}" if topic else ""


def _which_error(result: Mapping[str, Any]) -> str:
    _, _, said = str(result.get("metadata", {}).get("error", "")).rpartition("Error: ")
    topic = _topic(said)
    return f"the error {topic}" if topic else ""


def _about(result: Mapping[str, Any]) -> str:
    topic = _topic(result["title"])
    return f"the {_SAID.get(result['kind'], 'commit')} about {topic}" if topic else ""


def _title(result: Mapping[str, Any]) -> str:
    return _topic(result["title"])


_SORTS: Final[tuple[tuple[str, list[tuple[str, str]], Callable[[Mapping[str, Any]], str]], ...]] = (
    ("a decision", [("type", "decision")], _why),
    ("a command that failed", [("failed", "true")], _which_error),
    ("a document", [("types", ",".join(_SAID)), ("dateEnd", "now")], _about),
    ("a commit", [("types", "commit"), ("dateEnd", "now")], _about),
    ("your newest records", [("dateEnd", "now")], _title),
)
"""What is asked for, the search for candidates, and the question about one."""
