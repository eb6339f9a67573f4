"""Questions drawn from the store itself, two to six words of one record, and asking them."""

from __future__ import annotations

import random
import re
import sqlite3
import time
from pathlib import Path

from floor import PAGE
from process import Worker

_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,20}")


def draw(home: Path, count: int, seed: int = 7) -> list[str]:
    """``count`` different ones; the same for the same store."""
    chance = random.Random(seed)
    store = sqlite3.connect(home / "mem-search.db")
    (most,) = store.execute("select max(id) from records").fetchone()
    found: dict[str, None] = {}
    while len(found) < count:
        row = store.execute(
            "select title, substr(body, 1, 400) from records where id = ?",
            (chance.randint(1, most),),
        ).fetchone()
        words = list(dict.fromkeys(_WORD.findall(" ".join(row or ()))))
        size = chance.randint(2, 6)
        if len(words) >= size:
            found[" ".join(chance.sample(words, size))] = None
    store.close()
    return list(found)


def ask(running: Worker, text: str, **filters: object) -> float:
    """Milliseconds of one unified search as a client sees it."""
    started = time.perf_counter()
    running.get("/api/search/unified", query=text, limit=PAGE, **filters)
    return (time.perf_counter() - started) * 1000
