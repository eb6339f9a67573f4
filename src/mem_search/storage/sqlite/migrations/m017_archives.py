"""The step ``m017_archives``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run
from mem_search.text.page_names import page_name


def m017_archives(connection: sqlite3.Connection) -> None:
    """Places that cite a page, archives with their schedule, and better names of pages.

    Names of pages, and the edges that point at them, are those of ``page_names`` from now on, so
    that an address of a phone or of an archive leads to the page, too.
    """
    run(
        connection,
        """
        -- A context is a span of the record, as a passage is, so the two cannot drift apart.
        create table cites(
            edge_id integer not null references edges(id) on delete cascade,
            start integer not null,
            end integer not null,
            context_start integer not null,
            context_end integer not null,
            form text not null,
            primary key(edge_id, start)
        ) without rowid;

        -- '' where an archive has no folder of that sort; next_at is null without a schedule.
        create table archives(
            name text primary key,
            research text not null default '',
            pages text not null default '',
            schedule text not null default '',
            watch integer not null default 0,
            next_at integer,
            indexed_at integer,
            statistics text not null default '{}'
        ) without rowid;
    """,
    )
    connection.create_function("page_name", 1, _renamed, deterministic=True)
    connection.execute(
        "insert or ignore into names(name, record_id)"
        " select page_name(name), record_id from names where name >= 'url:' and name < 'url;'"
    )
    connection.execute("update edges set key = page_name(key) where key >= 'url:' and key < 'url;'")
    connection.execute(
        "update edges set to_id = (select n.record_id from names n where n.name = edges.key"
        " and n.record_id != edges.from_id order by n.record_id limit 1)"
        " where to_id is null and key >= 'url:' and key < 'url;'"
    )


def _renamed(name: str) -> str:
    page = page_name(f"https://{name.removeprefix('url:')}")
    return f"url:{page}" if page else name
