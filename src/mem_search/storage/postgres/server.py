"""What a server says: its errors in one line with the next step, and what ``doctor`` asks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolTimeout

from mem_search.errors import StorageError, StoreAway
from mem_search.model.statistics import Examined
from mem_search.patterns import pattern
from mem_search.storage.postgres import roles
from mem_search.storage.postgres.connection import Connection, first_line, place_of
from mem_search.storage.postgres.migrations import SCHEMA, begin, check_server, missing

_STEPS: Final[Mapping[str, str]] = {
    "53100": "the server's disk is full; free some space; no transaction was stored in part",
    "53200": "the server is out of memory; no transaction was stored in part",
    "53300": "the server has no free connection; raise max_connections or stop other clients",
    "25006": "the server only reads, as a replica does; connect to the primary",
    "42501": "the role lacks a right; grant it CREATE on the database, or ask the administrator",
    "28P01": "write the right password into a passfile (~/.pgpass), or into MEM_SEARCH_STORE",
    "28000": "the server does not accept this role; correct MEM_SEARCH_STORE or pg_hba.conf",
    "3D000": "there is no such database; create it, or correct MEM_SEARCH_STORE",
    "57014": "the statement took too long for the server's statement_timeout; raise it",
}
"""SQLSTATE → what is wrong and the next step."""

_REFUSED: Final = (
    (pattern(r"database .* does not exist"), "3D000"),
    (pattern(r"password authentication failed|no password supplied"), "28P01"),
    (pattern(r"role .* does not exist|pg_hba\.conf|authentication failed"), "28000"),
    (pattern(r"too many (?:clients|connections)|connection slots"), "53300"),
)
"""What libpq says of a connection that the server refused, and its SQLSTATE, which is not given."""

_AWAY: Final = "start the server, or correct MEM_SEARCH_STORE"


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Translate errors of the server into a StorageError of one line with the next step."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreAway(f"PostgreSQL at {place} does not answer; {_AWAY}") from error
    except psycopg.Error as error:
        text = first_line(error)
        state = error.sqlstate or next((s for said, s in _REFUSED if said.search(text)), "")
        if step := _STEPS.get(state):
            raise StorageError(f"PostgreSQL at {place}: {text}; {step}") from error
        if state.startswith("40"):
            raise StorageError(
                f"PostgreSQL at {place}: other writes were in the way; try again"
            ) from error
        # A connection that failed has no state.
        if isinstance(error, psycopg.OperationalError):
            raise StoreAway(f"PostgreSQL at {place}: {text}; {_AWAY}") from error
        raise


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
        if missing(connection, place) is None:
            with connection.transaction(force_rollback=True):  # whether the first start may
                begin(connection, place)
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
