"""A connection of either engine, and the parts of a store that run over both."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Repository")
C = TypeVar("C")
Values = Sequence[Any] | Mapping[str, Any]

MINE: Final = "current_setting('mem_search.worker')"
"""This worker. What is said of workers and homes falls away in a file: it has one of each."""

FREE: Final = (
    f"(worker is null or worker = {MINE} or not exists"
    " (select 1 from workers w where w.id = worker and w.until > clock_timestamp()))"
)
"""Of a row that is claimed by its column ``worker``: this worker may have it."""

OWN_HOME: Final = "home = current_setting('mem_search.home')"
"""Of a row with a ``home``: it is for this worker's."""

HERE: Final = "home in ('', current_setting('mem_search.home'))"
"""Of a row with a ``home``: it is for this worker's, or for any."""


class Rows(Protocol):
    """What a statement returns."""

    @property
    def rowcount(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...


class Connection(Protocol):
    """A connection inside a transaction; ``storage.sqlite.connection`` lists its dialect."""

    def execute(self, statement: str, values: Values = ..., /) -> Rows: ...

    def one(self, statement: str, values: Values = ..., /) -> tuple[Any, ...]:
        """The only row of ``statement``."""

    def maybe(self, statement: str, values: Values = ..., /) -> tuple[Any, ...] | None:
        """The first row of ``statement``, or None."""

    def column(self, statement: str, values: Values = ..., /) -> list[Any]:
        """The first column of ``statement``."""

    def count(self, statement: str, values: Values = ..., /) -> int:
        """The only value of ``statement``, a number; 0 for null."""

    def many(self, statement: str, rows: Iterable[Values], /) -> int:
        """Run ``statement`` for each of ``rows``; how many rows were changed."""

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], then: str = "", /
    ) -> None:
        """Insert ``rows``; ``then`` ends the statement. A column: name and type, ``id bigint``."""

    def claim(self, table: str, rows: Sequence[int] | Sequence[str], /) -> None:
        """These ``rows``, ids, which were ``FREE``, are this worker's."""

    def assign(self, table: str, column: str, values: Mapping[int, int | None], /) -> None:
        """Set a ``column`` of numbers in the rows with these ids."""

    def lock_store(self) -> None:
        """Let no other worker of this store write what is counted here, to the end of the
        transaction.
        """


class Asking:
    """Short ways to ask a connection, from its ``execute``."""

    if TYPE_CHECKING:
        execute: Any

    def one(self, statement: str, values: Values = (), /) -> tuple[Any, ...]:
        """The only row of ``statement``."""
        row: tuple[Any, ...] | None = self.execute(statement, values).fetchone()
        assert row is not None
        return row

    def maybe(self, statement: str, values: Values = (), /) -> tuple[Any, ...] | None:
        """The first row of ``statement``, or None."""
        row: tuple[Any, ...] | None = self.execute(statement, values).fetchone()
        return row

    def column(self, statement: str, values: Values = (), /) -> list[Any]:
        """The first column of ``statement``."""
        return [row[0] for row in self.execute(statement, values)]

    def count(self, statement: str, values: Values = (), /) -> int:
        """The only value of ``statement``, a number; 0 for null."""
        return int(self.one(statement, values)[0] or 0)


@dataclass(frozen=True, slots=True)
class Json:
    """A value that a column of JSON gets."""

    value: Any


def from_json(value: Any) -> Any:
    """What a column of JSON holds, an object or an array: SQLite gives its text."""
    return json.loads(value) if isinstance(value, str) else value


def ascii_lower(text: str) -> str:
    """``text`` with the ASCII letters in lower case: names that differ in these alone are equal.

    So compare ``nocase`` of SQLite and ``lower`` of PostgreSQL in the collation "C".
    """
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def folded_name(text: str) -> str:
    """``text`` as names compare: in either case, and composed (caseless matching of Unicode)."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class Repository:
    """Base of a part of the store; ``reads`` and ``writes`` turn functions of a connection into its
    methods.
    """

    def __init__(self, database: Any) -> None:
        self._database = database


Query = Callable[Concatenate[R, C, P], T]
Method = Callable[Concatenate[R, P], Coroutine[Any, Any, T]]


def reads(query: Query[R, C, P, T]) -> Method[R, P, T]:
    """An async method that runs ``query`` on a reader, inside one consistent snapshot."""
    return _run_by("read", query)


def writes(query: Query[R, C, P, T]) -> Method[R, P, T]:
    """An async method that runs ``query`` as one transaction: all of it is kept, or nothing."""
    return _run_by("write", query)


def writes_beside(query: Query[R, C, P, T]) -> Method[R, P, T]:
    """``writes`` of what no search reads: a replica answers searches before it has that."""
    return _run_by("write_beside", query)


def _run_by(way: str, query: Query[R, C, P, T]) -> Method[R, P, T]:
    @wraps(query)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        run = getattr(self._database, way)
        done: T = await run(lambda connection: query(self, connection, *args, **kwargs))
        return done

    return method
