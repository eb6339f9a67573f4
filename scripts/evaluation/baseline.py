"""The reference every set names: SQLite FTS5, porter, OR of all words, all weights 1."""

from __future__ import annotations

import re
import sqlite3
import time
from typing import Any

from dataset import Dataset


class Fts5:
    def __init__(self, dataset: Dataset) -> None:
        self._documents: list[dict[str, Any]] = [
            d
            for d in dataset.documents
            if not dataset.judged_kinds or d["kind"] in dataset.judged_kinds
        ]
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "create virtual table f using fts5(title, text, project unindexed,"
            " tokenize='porter unicode61')"
        )
        self._db.executemany(
            "insert into f(rowid, title, text, project) values(?, ?, ?, ?)",
            [(i, d["title"], d["text"], d["project"]) for i, d in enumerate(self._documents)],
        )

    def search(self, text: str, project: str) -> tuple[list[str], float]:
        started = time.perf_counter()
        words = dict.fromkeys(re.findall(r"[^\W_]+", text.lower()))
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._db.execute(
            "select rowid from f where f match ? and (? = '' or project = ?)"
            " order by bm25(f) limit 10",
            (expression, project, project),
        )
        ranked = [self._documents[i]["source_id"] for (i,) in rows]
        return ranked, (time.perf_counter() - started) * 1000
