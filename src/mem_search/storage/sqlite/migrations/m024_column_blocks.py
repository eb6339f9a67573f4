"""The step ``m024_column_blocks``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m024_column_blocks(connection: sqlite3.Connection) -> None:
    """Columns of all records and passages in blocks of 16,384 numbers (``sqlite.column_blocks``).

    They are derived from the records. The triggers keep from them what is forgotten or redacted,
    whichever process does it.
    """
    run(
        connection,
        """
        create table column_blocks(
            of text not null check(of in ('records', 'passages', 'words')),
            block integer not null,
            content blob not null,
            primary key(of, block)
        );
        create trigger column_blocks_record_deleted after delete on records begin
            delete from column_blocks where of = 'records' and block = old.id / 16384;
        end;
        create trigger column_blocks_record_renamed
            after update of project, session, source on records
            when new.project != old.project or new.session != old.session
                or new.source != old.source
        begin
            delete from column_blocks where of = 'records' and block = old.id / 16384;
        end;
        create trigger column_blocks_passage_deleted after delete on passages begin
            delete from column_blocks where of != 'records' and block = old.id / 16384;
        end;
    """,
    )
