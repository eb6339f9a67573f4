"""What the server says went wrong, in one line with the next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolTimeout

from mem_search.errors import StorageError, StoreAway
from mem_search.patterns import pattern
from mem_search.storage.postgres.connection import first_line

_STEPS: Final[Mapping[str, str]] = {
    "53100": "the server's disk is full; free some space; no transaction was stored in part",
    "53200": "the server is out of memory; no transaction was stored in part",
    "53300": "the server has no free connection; raise max_connections or stop other clients",
    "25006": "the server only reads, as a replica does; connect to the primary",
    "42501": "the role lacks a right; grant it CREATE on the database, or ask the administrator",
    "28P01": "the password is wrong; correct MEM_SEARCH_STORE, or use a passfile",
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
