"""The step ``m005_saved_searches``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m005_saved_searches(connection: sqlite3.Connection) -> None:
    """Messages to webhooks, saved searches with what they reported, the inbox, and scopes.

    ``saved_told`` has every (record, content) that a saved search has reported: nothing is reported
    twice, and a changed record is reported again. ``stored_at`` gets an index because a saved
    search looks only at what came since. A scope is a part of the questions that name it, so its
    changes count for the revision as well.
    """
    run(
        connection,
        """
        create table webhook_deliveries(
            id text primary key,
            event text not null,
            url text not null,
            body blob not null,
            state text not null default 'pending'
                check(state in ('pending', 'delivered', 'failed')),
            attempts integer not null default 0,
            next_at integer not null,
            status integer,
            error text not null default '',
            created_at integer not null,
            ended_at integer
        ) without rowid;
        create index webhook_deliveries_due on webhook_deliveries(next_at)
            where state = 'pending';

        create table saved_searches(
            id integer primary key autoincrement,
            name text not null unique collate nocase,
            request text not null,
            every_seconds integer,
            inbox integer not null default 1,
            webhook_url text not null default '',
            created_at integer not null,
            since integer not null,
            newest_record integer not null,
            ran_at integer,
            next_at integer,
            error text not null default ''
        );
        create table saved_told(
            search_id integer not null references saved_searches(id) on delete cascade,
            record_id integer not null references records(id) on delete cascade,
            content_hash blob not null,
            primary key(search_id, record_id, content_hash)
        ) without rowid;
        create index saved_told_by_record on saved_told(record_id);

        create table notifications(
            id integer primary key autoincrement,
            search_id integer not null references saved_searches(id) on delete cascade,
            at integer not null,
            count integer not null,
            inbox integer not null,
            delivery_id text,
            read_at integer
        );
        create table notification_matches(
            notification_id integer not null references notifications(id) on delete cascade,
            place integer not null,
            record_id integer not null references records(id) on delete cascade,
            changed integer not null,
            primary key(notification_id, place)
        ) without rowid;
        create index notification_matches_by_record on notification_matches(record_id);
        create index notifications_by_search on notifications(search_id);

        create table scopes(
            name text primary key collate nocase,
            filter text not null,
            created_at integer not null
        ) without rowid;
        create trigger revision_scope_insert after insert on scopes begin
            update revision set value = value + 1;
        end;
        create trigger revision_scope_update after update on scopes begin
            update revision set value = value + 1;
        end;
        create trigger revision_scope_delete after delete on scopes begin
            update revision set value = value + 1;
        end;
        create index records_by_stored on records(stored_at);
    """,
    )
