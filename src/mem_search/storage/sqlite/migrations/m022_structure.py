"""The step ``m022_structure``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m022_structure(connection: sqlite3.Connection) -> None:
    """Passages know the headings above them, and a record can have a passage about all of it.

    Stored passages stay as they are, so nothing is embedded again: a record gets the new ones when
    it is read anew (``mem-search add --again``) or changes.
    """
    run(
        connection,
        """
        alter table passages add column above text not null default '';
        -- A summary (ordinal -1) has a vector and no words in the full text.
        drop view passage_texts;
        create view passage_texts as
            select p.id as id, r.title as title,
                   substr(r.body, p.start + 1, p.end - p.start) as text, p.parts as parts,
                   p.people as people
            from passages p join records r on r.id = p.record_id where p.ordinal >= 0;
    """,
    )
