"""Draw queries from the store itself, and run them."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from pathlib import Path

from figures import timed
from floor import PAGE
from process import Worker, one

_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,20}")


def draw(home: Path, count: int, seed: int = 7) -> list[str]:
    """``count`` different ones; the same for the same store.

    Two are words of a record in any order, the next two part of a title, in turns: the legs agree
    more often on the results of the latter.
    """
    chance = random.Random(seed)
    most = one(home, "select max(id) from records")
    store = sqlite3.connect(home / "mem-search.db")
    found: dict[str, None] = {}
    while len(found) < count:
        row = store.execute(
            "select title, substr(body, 1, 400) from records where id = ?",
            (chance.randint(1, most),),
        ).fetchone()
        sort = _part_of_title if len(found) // 2 % 2 else _any_words
        if row and (words := sort(chance, *row)):
            found[" ".join(words)] = None
    store.close()
    return list(found)


def of(file: Path, count: int) -> list[str]:
    """``count`` of the questions of a file ``queries.jsonl``, in an order of chance."""
    every = [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]
    return random.Random(7).sample(every, min(count, len(every)))


def _any_words(chance: random.Random, title: str, body: str) -> list[str]:
    """Two to six in any order; none where there are too few."""
    words = list(dict.fromkeys(_WORD.findall(f"{title} {body}")))
    size = chance.randint(2, 6)
    return chance.sample(words, size) if len(words) >= size else []


def _part_of_title(chance: random.Random, title: str, _body: str) -> list[str]:
    """Three to six in a row; none where there are too few."""
    words = _WORD.findall(title)
    size = chance.randint(3, 6)
    if len(words) < size:
        return []
    first = chance.randint(0, len(words) - size)
    return words[first : first + size]


def ask(running: Worker, text: str, **filters: object) -> float:
    """Milliseconds of one unified search as a client sees it."""
    return timed(lambda: running.get("/api/search/unified", query=text, limit=PAGE, **filters))[1]


def moved(running: Worker, text: str) -> bool:
    """Whether feedback moved the query: only where the legs agree on the best results."""
    reply = running.get("/api/search/unified", query=text, limit=PAGE, format="json")
    return any("feedback" in result["scores"] for result in json.loads(reply)["results"])
