"""What ``doctor`` asks of a server: whether it can hold a store, and how large that one is."""

from __future__ import annotations

from typing import Final

from mem_search.errors import StorageError
from mem_search.model.statistics import Examined
from mem_search.storage.postgres import roles
from mem_search.storage.postgres.connection import Connection, place_of
from mem_search.storage.postgres.migrations import SCHEMA, applied, check_server
from mem_search.storage.postgres.server_errors import translated

_SECONDS: Final = 5


def examined(address: str) -> Examined:
    """The server in one line, where it can be reached and can hold a store. Changes nothing."""
    try:
        return Examined(True, _described(address))
    except StorageError as error:
        problem, _, advice = error.message.partition("; ")
        return Examined(False, problem, advice)


def _described(address: str) -> str:
    place = place_of(address)
    with (
        translated(place),
        Connection.connect(address, autocommit=True, connect_timeout=_SECONDS) as connection,
    ):
        check_server(connection, place)
        server = connection.info.server_version // 10_000
        vector, size = connection.one(
            "select coalesce((select extversion from pg_extension where extname = 'vector'), ''),"
            " coalesce((select sum(pg_total_relation_size(c.oid)) from pg_class c"
            " where c.relnamespace = to_regnamespace(%s) and c.relkind = 'r'), 0)",
            (SCHEMA,),
        )
        if applied(connection) is None:
            return f"PostgreSQL {server} at {place}: no store yet (created at the first start)"
        (types_in,) = connection.one(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"
        )
        kept_apart = bool(roles.find(connection, SCHEMA, types_in).working)
        user, database = connection.info.user, connection.info.dbname
    told = f"PostgreSQL {server} with pgvector {vector} at {place} ({size / 2**20:.1f} MB)"
    if kept_apart:
        return f"{told}; searches, writes and administration have a role each"
    # Rows of users are kept apart all the same: the policies hold for the owner of the tables.
    return (
        f"{told}; one role does everything, because {user} may not create roles; to have one"
        " that only reads for searches, let an administrator run:"
        f" {roles.advice(database, user)}"
    )
