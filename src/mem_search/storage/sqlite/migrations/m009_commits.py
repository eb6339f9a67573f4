"""The step ``m009_commits``."""

from __future__ import annotations

import sqlite3

_OLD = "____________:________________________________________"
"""``like`` this were the source ids of commits: twelve digits of a root, then the hash."""


def m009_commits(connection: sqlite3.Connection) -> None:
    """A commit is known by its hash alone, and found by it.

    Where a root had changed and a commit has several records, the oldest gets the id and the
    others keep theirs: nothing is deleted here.
    """
    connection.execute(
        "update or ignore records set source_id = substr(source_id, 14)"
        " where id in (select min(id) from records where source = 'git' and source_id like ?"
        "  group by substr(source_id, 14))",
        (_OLD,),
    )
    connection.execute(
        "update or replace tombstones set source_id = substr(source_id, 14)"
        " where source = 'git' and source_id like ?",
        (_OLD,),
    )
    commits = connection.execute(
        "select id, source_id from records where source = 'git' and length(source_id) = 40"
    ).fetchall()
    for number, commit in commits:
        connection.execute("delete from names where record_id = ? and name like 'id:%'", (number,))
        connection.execute("insert or ignore into names values(?, ?)", (f"id:{commit}", number))
        _index(connection, number, commit)


def _index(connection: sqlite3.Connection, number: int, commit: str) -> None:
    row = connection.execute(
        "select p.id, t.title, t.text, p.parts from passages p join passage_texts t on t.id = p.id"
        " where p.record_id = ? order by p.ordinal limit 1",
        (number,),
    ).fetchone()
    if row is None or commit in row[3]:
        return
    passage, title, text, parts = row
    connection.execute(
        "insert into passages_fts(passages_fts, rowid, title, text, parts)"
        " values('delete', ?, ?, ?, ?)",
        row,
    )
    more = f"{parts} {commit}".strip()
    connection.execute("update passages set parts = ? where id = ?", (more, passage))
    connection.execute(
        "insert into passages_fts(rowid, title, text, parts) values(?, ?, ?, ?)",
        (passage, title, text, more),
    )
