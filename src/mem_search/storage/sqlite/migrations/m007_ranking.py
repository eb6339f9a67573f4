"""The step ``m007_ranking``."""

from __future__ import annotations

import sqlite3
from typing import Final

from mem_search.patterns import pattern
from mem_search.storage.sqlite.migrations._script import run
from mem_search.text import words
from mem_search.text.sketch import sketch

_CJK: Final = pattern(f"[{words.CJK}]")
_AT_ONCE: Final = 500


def m007_ranking(connection: sqlite3.Connection) -> None:
    """Sketches for near-duplicates, both directions of supersession, ends of CJK runs.

    Sketches and index terms of what is stored are made by the code that makes them for new
    records: they are compared with those. Only passages with CJK are indexed anew.
    """
    run(
        connection,
        """
        create table sketches(
            record_id integer primary key references records(id) on delete cascade,
            sketch blob not null
        );
        -- Without it a record that goes makes SQLite look through all others for its number.
        create index records_by_successor on records(superseded_by)
            where superseded_by is not null;

        update records set superseded_by = (
            select case when e.to_id = records.id then e.from_id else e.to_id end
            from edges e join records s
                on s.id = case when e.to_id = records.id then e.from_id else e.to_id end
            where ((e.to_id = records.id and e.relation in ('supersedes', 'replaces'))
                or (e.from_id = records.id and e.relation in ('superseded_by', 'replaced_by')))
            and (e.origin = 'given' or (s.project != '' and s.project = records.project))
            order by e.origin = 'given' desc, s.created_at desc, s.id desc limit 1)
        where id in (
            select to_id from edges where relation in ('supersedes', 'replaces')
            union select from_id from edges where relation in ('superseded_by', 'replaced_by'));
    """,
    )
    last = 0
    while rows := connection.execute(
        "select id, title, body from records where id > ? order by id limit ?", (last, _AT_ONCE)
    ).fetchall():
        last = rows[-1][0]
        connection.executemany(
            "insert into sketches(record_id, sketch) values(?, ?)",
            [(number, sketch(title, body)) for number, title, body in rows],
        )
        for number, title, body in rows:
            if _CJK.search(title) or _CJK.search(body):
                _index_anew(connection, number)


def _index_anew(connection: sqlite3.Connection, number: int) -> None:
    for passage, title, text, parts in connection.execute(
        "select t.id, t.title, t.text, t.parts from passages p join passage_texts t on t.id = p.id"
        " where p.record_id = ?",
        (number,),
    ).fetchall():
        made = f"{words.parts(title)} {words.parts(text)}".strip()
        if made != parts:
            connection.execute(
                "insert into passages_fts(passages_fts, rowid, title, text, parts)"
                " values('delete', ?, ?, ?, ?)",
                (passage, title, text, parts),
            )
            connection.execute("update passages set parts = ? where id = ?", (made, passage))
            connection.execute(
                "insert into passages_fts(rowid, title, text, parts) values(?, ?, ?, ?)",
                (passage, title, text, made),
            )
