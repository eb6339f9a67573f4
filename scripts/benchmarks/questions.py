"""Questions drawn from the store itself: two to six words of one record."""

from __future__ import annotations

import random
import re
import sqlite3
from pathlib import Path

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


def shares(home: Path, column: str) -> list[tuple[str, int]]:
    """Values of ``kind`` or ``project`` and how many records have them, most first."""
    store = sqlite3.connect(home / "mem-search.db")
    try:
        return store.execute(
            f"select {column}, count(*) from records group by 1 order by 2 desc, 1"
        ).fetchall()
    finally:
        store.close()
