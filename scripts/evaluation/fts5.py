"""The reference that every set names: SQLite FTS5, porter, OR of all words, all weights 1."""

from __future__ import annotations

import re
import sqlite3

from dataset import Dataset


class Fts5:
    """One table in memory; a project is a condition on its rows."""

    def __init__(self, data: Dataset) -> None:
        self._ids = [document["source_id"] for document in data.judged]
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "create virtual table f using fts5(title, text, project unindexed,"
            " tokenize='porter unicode61')"
        )
        self._db.executemany(
            "insert into f(rowid, title, text, project) values(?, ?, ?, ?)",
            [(i, d["title"], d["text"], d["project"]) for i, d in enumerate(data.judged)],
        )

    async def search(self, text: str, project: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"[^\W_]+", text.lower()))
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._db.execute(
            "select rowid from f where f match ? and (? = '' or project = ?)"
            " order by bm25(f) limit 10",
            (expression, project, project),
        )
        return [self._ids[i] for (i,) in rows]

    def close(self) -> None:
        self._db.close()
