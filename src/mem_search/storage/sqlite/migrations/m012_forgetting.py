"""The step ``m012_forgetting``."""

from __future__ import annotations

import secrets
import sqlite3

from mem_search.storage.rules.tombstones import KEY_BYTES, digest
from mem_search.storage.sqlite.migrations._script import run


def m012_forgetting(connection: sqlite3.Connection) -> None:
    """Tombstones keep a keyed hash instead of the id, and a forgetting can be resumed.

    ``forget_records`` are records that are still to be removed, ``forget_traces`` is what is
    looked for in the rest of the store until it is gone from there.
    """
    old = connection.execute("select source, source_id, forgotten_at from tombstones").fetchall()
    run(
        connection,
        """
        drop table tombstones;
        -- The first key is this store's own, the others came with exports of other stores.
        create table tombstone_keys(
            id integer primary key,
            key blob not null unique
        );
        create table tombstones(
            digest blob not null,
            key_id integer not null references tombstone_keys(id),
            forgotten_at integer not null,
            primary key(digest, key_id)
        ) without rowid;
        create table forget_receipts(
            id text primary key,
            purge integer not null,
            removed text not null default '{}',
            pending text not null,
            waiting text not null default '',
            begun_at integer not null,
            done_at integer
        ) without rowid;
        create table forget_records(
            record_id integer primary key,
            receipt text not null
        );
        create table forget_traces(
            sort text not null check(sort in ('word', 'ref', 'id')),
            value text not null,
            primary key(sort, value)
        ) without rowid;
    """,
    )
    key = secrets.token_bytes(KEY_BYTES)
    connection.execute("insert into tombstone_keys(id, key) values(1, ?)", (key,))
    connection.executemany(
        "insert or ignore into tombstones(digest, key_id, forgotten_at) values(?, 1, ?)",
        [(digest(key, source, name, ""), at) for source, name, at in old],
    )
