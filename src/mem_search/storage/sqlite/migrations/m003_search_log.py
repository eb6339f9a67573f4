"""The step ``m003_search_log``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m003_search_log(connection: sqlite3.Connection) -> None:
    """The log of searches, and what completions and spelling are made from.

    ``words_fts`` holds the store's words as they are written, not stemmed as in the index that
    is searched. Triggers keep it in step, so a forgotten record leaves no word behind.
    """
    run(
        connection,
        """
        create table search_log(
            id integer primary key autoincrement,
            at integer not null,
            query text not null,
            filters text not null,
            mode text not null,
            total integer not null,
            took_ms real not null,
            surface text not null
        );
        create index search_log_by_date on search_log(at);

        create virtual table words_fts using fts5(
            title, body, content='', detail=none, columnsize=0,
            tokenize='unicode61 remove_diacritics 0'
        );
        create virtual table words using fts5vocab('words_fts', 'row');
        create trigger words_learn after insert on records begin
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
        create trigger words_forget after delete on records begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
        end;
        create trigger words_change after update of title, body on records
        when old.title is not new.title or old.body is not new.body begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
        insert into words_fts(rowid, title, body) select id, title, body from records;

        create index records_by_title on records(title collate nocase) where title != '';
        -- The last part of a path: what remains when everything but slashes is trimmed off.
        create index facets_by_file_name on facets(
            lower(replace(value, rtrim(value, replace(value, '/', '')), ''))
        ) where name in ('file_read', 'file_modified', 'path');
    """,
    )
