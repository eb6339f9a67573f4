"""The step ``m011_revisions``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m011_revisions(connection: sqlite3.Connection) -> None:
    """Every write of a record gets a revision, whichever process writes it.

    Searches keep columns of all records in memory and read again what was written since. The
    newest row is never deleted, so that revisions only grow.
    """
    run(
        connection,
        """
        create table record_changes(
            revision integer primary key,
            record_id integer not null
        );
        create trigger record_changes_insert after insert on records begin
            insert into record_changes(record_id) values(new.id);
        end;
        create trigger record_changes_update after update on records begin
            insert into record_changes(record_id) values(new.id);
        end;
        create trigger record_changes_delete after delete on records begin
            insert into record_changes(record_id) values(old.id);
        end;
        create trigger record_changes_prune after insert on record_changes
            when new.revision % 1000 = 0 begin
            delete from record_changes where revision <= new.revision - 20000;
        end;
    """,
    )
