"""The step ``m019_names``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m019_names(connection: sqlite3.Connection) -> None:
    """The names of people and attached files are words of the store, too.

    A misspelt ``Schmitd`` finds Schmidt, who only sent mails, and completions and wildcards know
    him. The names have an index of their own, so that no text is indexed again: this takes one
    pass over the passages. ``known_words`` has a word twice where texts and names have it.
    """
    run(
        connection,
        """
        create virtual table people_fts using fts5(
            people, content='', detail=none, columnsize=0,
            tokenize='unicode61 remove_diacritics 0'
        );
        create virtual table people_words using fts5vocab('people_fts', 'row');
        create view known_words as
            select term, doc from words union all select term, doc from people_words;
        create trigger people_learn after insert on passages when new.people != '' begin
            insert into people_fts(rowid, people) values(new.id, new.people);
        end;
        create trigger people_forget after delete on passages when old.people != '' begin
            insert into people_fts(people_fts, rowid, people)
            values('delete', old.id, old.people);
        end;
        create trigger people_change after update of people on passages
        when old.people is not new.people begin
            insert into people_fts(people_fts, rowid, people)
            select 'delete', old.id, old.people where old.people != '';
            insert into people_fts(rowid, people)
            select new.id, new.people where new.people != '';
        end;
        insert into people_fts(rowid, people) select id, people from passages where people != '';
    """,
    )
