"""The step ``m004_research``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m004_research(connection: sqlite3.Connection) -> None:
    """Steps of research chains, searches in the background, and the revision of the records.

    ``revision`` grows with every change of a record, so that a replay can tell an answer that
    differs because the store does from one that differs for another reason.
    """
    run(
        connection,
        """
        create table revision(value integer not null);
        insert into revision values(0);
        create trigger revision_insert after insert on records begin
            update revision set value = value + 1;
        end;
        create trigger revision_update after update on records begin
            update revision set value = value + 1;
        end;
        create trigger revision_delete after delete on records begin
            update revision set value = value + 1;
        end;

        create table search_operations(
            seq integer primary key autoincrement,
            id text not null unique,
            session_id text not null default '',
            parent_id text references search_operations(id) on delete cascade,
            type text not null check(type in ('search', 'fetch', 'refine')),
            query text not null,
            mode text not null,
            content_types text not null,
            request text not null,
            redacted integer not null,
            results text not null,
            total_count integer not null,
            took_ms real not null,
            report text not null,
            index_state text not null,
            created_at integer not null
        );
        create index search_operations_by_session on search_operations(session_id, seq);
        create index search_operations_by_parent on search_operations(parent_id);

        create table search_jobs(
            seq integer primary key autoincrement,
            id text not null unique,
            status text not null default 'pending'
                check(status in ('pending', 'running', 'completed', 'failed', 'cancelled')),
            request text not null,
            surface text not null,
            webhook_url text not null default '',
            delivery_id text,
            step text not null default '',
            done integer not null default 0,
            total integer not null default 0,
            result text,
            error text not null default '',
            created_at integer not null,
            started_at integer,
            completed_at integer
        );
        create index search_jobs_by_status on search_jobs(status);
    """,
    )
