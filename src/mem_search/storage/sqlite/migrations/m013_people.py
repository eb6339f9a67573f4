"""The step ``m013_people``."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from mem_search.patterns import pattern
from mem_search.storage.sqlite.migrations._script import run
from mem_search.text import words
from mem_search.text.search_fields import NAMED, names_in

_SPECIAL: Final = pattern("[ßẞæÆœŒøØłŁđĐðÐþÞı]")
"""``words.FOLDED`` in both cases."""


def m013_people(connection: sqlite3.Connection) -> None:
    """People and attached files that metadata names get a column of the full text, and words with
    letters such as ß are found without them.

    Both are made by the code that makes them for new records. The full text is written again: it
    cannot get a column in another way.
    """
    run(
        connection,
        """
        -- Of the first passage of a record only: a record is found by its best passage.
        alter table passages add column people text not null default '';
        drop table passages_fts;
        drop view passage_texts;
        create view passage_texts as
            select p.id as id, r.title as title,
                   substr(r.body, p.start + 1, p.end - p.start) as text, p.parts as parts,
                   p.people as people
            from passages p join records r on r.id = p.record_id;
        create virtual table passages_fts using fts5(
            title, text, parts, people,
            content='passage_texts', content_rowid='id',
            tokenize='porter unicode61 remove_diacritics 2'
        );
    """,
    )
    named = [
        (people, number)
        for number, data in connection.execute(
            "select r.id, r.data from records r where exists ("
            f"select 1 from json_each(r.data) v where v.key in ({', '.join('?' * len(NAMED))}))",
            NAMED,
        )
        if (people := names_in(json.loads(data)))
    ]
    connection.executemany(
        "update passages set people = ? where record_id = ? and ordinal = 0", named
    )
    special = [
        row
        for row in connection.execute("select id, title, text, parts from passage_texts")
        if _SPECIAL.search(row[1]) or _SPECIAL.search(row[2])
    ]
    for passage, title, text, parts in special:
        known = parts.split()
        made = f"{words.parts(title)} {words.parts(text)}".split()
        more = [word for word in made if word not in known]
        connection.execute(
            "update passages set parts = ? where id = ?", (" ".join([*known, *more]), passage)
        )
    connection.execute("insert into passages_fts(passages_fts) values('rebuild')")
