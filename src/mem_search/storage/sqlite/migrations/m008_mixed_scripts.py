"""The step ``m008_mixed_scripts``."""

from __future__ import annotations

import sqlite3
from typing import Final

from mem_search.patterns import pattern
from mem_search.text import words

_LETTER: Final = rf"(?![{words.CJK}])[^\W_]"
_MIXED: Final = pattern(rf"[{words.CJK}]{_LETTER}|{_LETTER}[{words.CJK}]")


def m008_mixed_scripts(connection: sqlite3.Connection) -> None:
    """Words of other scripts that touch Chinese, Japanese or Korean get index terms.

    The terms are made by the code that makes them for new records; only passages where scripts
    touch are indexed anew.
    """
    touched = [
        passage
        for passage, title, text in connection.execute("select id, title, text from passage_texts")
        if any(not part.isascii() and _MIXED.search(part) for part in (title, text))
    ]
    for passage in touched:
        row = connection.execute(
            "select title, text, parts from passage_texts where id = ?", (passage,)
        ).fetchone()
        title, text, _ = row
        connection.execute(
            "insert into passages_fts(passages_fts, rowid, title, text, parts)"
            " values('delete', ?, ?, ?, ?)",
            (passage, *row),
        )
        parts = f"{words.parts(title)} {words.parts(text)}".strip()
        connection.execute("update passages set parts = ? where id = ?", (parts, passage))
        connection.execute(
            "insert into passages_fts(rowid, title, text, parts) values(?, ?, ?, ?)",
            (passage, title, text, parts),
        )
