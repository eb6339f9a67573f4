"""The step ``m021_sample``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m021_sample(connection: sqlite3.Connection) -> None:
    """No word of the sample is completed or suggested: it is nobody's own text.

    The sample is what a machine without any history gets to try a search on (issue 17.2).
    """
    run(
        connection,
        """
        insert into words_fts(words_fts, rowid, title, body)
            select 'delete', id, title, body from records where source = 'sample';
        drop trigger words_learn;
        drop trigger words_forget;
        drop trigger words_change;
        create trigger words_learn after insert on records when new.source != 'sample' begin
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
        create trigger words_forget after delete on records when old.source != 'sample' begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
        end;
        create trigger words_change after update of title, body on records
        when old.source != 'sample' and (old.title is not new.title or old.body is not new.body)
        begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
    """,
    )
