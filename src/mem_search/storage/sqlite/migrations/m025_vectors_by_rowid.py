"""The step ``m025_vectors_by_rowid``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m025_vectors_by_rowid(connection: sqlite3.Connection) -> None:
    """The table of vectors has rowids, so that it is as large as what is in it (ADR 0013).

    A store with vectors gets the new table beside the old one, and triggers that keep what is
    written in both; ``sqlite.vectors_move`` fills it while the worker has nothing else to do.
    """
    run(
        connection,
        """
        create table vectors_next(
            entry_id integer not null,
            model_id integer not null references embedding_models(id) on delete cascade,
            vector blob not null,
            primary key(entry_id, model_id)
        );
        """,
    )
    if connection.execute("select 1 from vectors limit 1").fetchone() is None:
        connection.execute("drop table vectors")
        connection.execute("alter table vectors_next rename to vectors")
        return
    run(
        connection,
        """
        create trigger vectors_next_added after insert on vectors begin
            insert or replace into vectors_next(entry_id, model_id, vector)
                values(new.entry_id, new.model_id, new.vector);
        end;
        create trigger vectors_next_deleted after delete on vectors begin
            delete from vectors_next
                where entry_id = old.entry_id and model_id = old.model_id;
        end;
        insert into meta(key, value) values('vectors_moved', '-1');
        """,
    )
