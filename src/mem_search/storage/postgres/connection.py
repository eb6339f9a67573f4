"""A connection to PostgreSQL: how values are written and read, and short ways to ask."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb, JsonbDumper, set_json_dumps, set_json_loads
from psycopg.types.string import StrDumper

from mem_search.errors import StorageError
from mem_search.patterns import pattern
from mem_search.storage.sql.connection import Asking, Json
from mem_search.text.json_reading import with_texts

__all__ = ["Connection", "Jsonb", "as_json", "as_stored", "first_line", "place_of"]

Values = Sequence[Any] | Mapping[str, Any]

_UNSTORABLE: Final = pattern("[\x00\ud800-\udfff]")
_MAYBE_UNSTORABLE: Final = pattern(r"\\u(?:0000|d[89a-f])")
_REPLACEMENT: Final = "\ufffd"


class Connection(Asking, psycopg.Connection[tuple[Any, ...]]):
    """Statements are composed of our own names and conditions; values are always bound."""

    _beginning = "begin"
    _settings: Sequence[str] = ()

    def execute(  # type: ignore[override]
        self, statement: str, values: Values = (), *, binary: bool = False
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        """``binary`` rows come as they are stored: for bytes, which text makes twice as long."""
        own = psycopg.Connection.execute
        return own(self, statement, values or None, binary=binary)

    def numbers(self, statement: str, values: Values = ()) -> NDArray[np.int64]:
        """The numbers that ``statement`` selects, in its order: one row, decoded at once."""
        (packed,) = self.execute(
            f"select string_agg(int8send(s.n), ''::bytea) from ({statement}) s(n)",
            values,
            binary=True,
        ).fetchall()[0]
        return np.frombuffer(packed or b"", ">i8").astype(np.int64)

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], then: str = ""
    ) -> None:
        """Insert ``rows`` by one statement. A column is its name and type: ``id bigint``."""
        if not rows:
            return
        names, types = zip(*(column.split() for column in columns), strict=True)
        arrays = ", ".join(f"%s::{each}[]" for each in types)
        self.execute(
            f"insert into {table}({', '.join(names)}) select * from unnest({arrays}) {then}",
            [list(column) for column in zip(*rows, strict=True)],
        )

    def assign(self, table: str, column: str, values: Mapping[int, int | None]) -> None:
        """See ``storage.sql.connection.Connection``: one statement."""
        self.execute(
            f"update {table} t set {column} = f.value"
            " from unnest(%s::bigint[], %s::bigint[]) f(id, value)"
            f" where t.id = f.id and t.{column} is distinct from f.value",
            (list(values), list(values.values())),
        )

    def many(self, statement: str, rows: Iterable[Values]) -> int:
        """Run ``statement`` for each of ``rows``, together; how many rows were changed."""
        with self.cursor() as cursor:
            cursor.executemany(statement, rows)
            return max(cursor.rowcount, 0)

    def act(
        self,
        schema: str,
        types_in: str,
        owner: str,
        *,
        role: str = "",
        mode: str = "",
        worker: str = "",
        home: str = "",
    ) -> None:
        """Say how each transaction of ``begun`` acts: as ``owner``, in ``role`` if there is one.

        Tables are those of ``schema``, types those in ``types_in``. ``mode`` is of the transaction.
        What is claimed is claimed for ``worker``, which has its files in ``home``.
        """
        own = {"owner": owner, "worker": worker, "home": home}
        self._settings = [
            f'search_path = {schema}, "{types_in}"',
            "timezone = 'UTC'",
            *(f"mem_search.{name} = {sql.Literal(value).as_string(self)}"
              for name, value in own.items()),
        ]  # fmt: skip
        change = [f'role = "{role}"'] if role else []
        local = (f"set local {each}" for each in [*change, *self._settings])
        self._beginning = "; ".join([f"begin {mode}", *local])
        self.adapters.register_dumper(str, _TextDumper)
        self.adapters.register_dumper(Json, _JsonDumper)
        set_json_dumps(as_json, self)
        set_json_loads(_loads, self)

    def claim(self, table: str, rows: Sequence[int] | Sequence[str]) -> None:
        """See ``storage.sql.connection.Connection``."""
        if rows:
            mine = f"update {table} set worker = current_setting('mem_search.worker')"
            self.execute(f"{mine} where id = any(%s)", (rows,))

    def lock_store(self) -> None:
        """See ``storage.sql.connection.Connection``."""
        self.execute("select 1 from stores for update")

    @contextmanager
    def begun(self) -> Iterator[Self]:
        """One transaction that acts as ``act`` says, committed at the end unless it raises.

        Nothing of that outlives it: what a connection did before, also one that a pooler lends to
        several programs, makes no difference to the next.
        """
        try:
            # Several statements in one message: that is one way to the server and back.
            super().execute(self._beginning.encode(), prepare=False)
            yield self
        except BaseException:
            with suppress(psycopg.Error):
                self.rollback()
            raise
        self.commit()

    def administer(self) -> None:
        """Act as the connecting role for as long as this connection lives, outside transactions."""
        super().execute("; ".join(f"set {each}" for each in self._settings).encode(), prepare=False)


class _TextDumper(StrDumper):
    """Text of PostgreSQL has no NUL, and no half of a surrogate pair."""

    def dump(self, obj: str) -> Any:
        return super().dump(as_stored(obj))


class _JsonDumper(JsonbDumper):
    """``Json`` of shared statements is jsonb."""

    def dump(self, obj: Json) -> Any:
        return super().dump(Jsonb(obj.value, as_json))


def as_stored(text: str) -> str:
    """``text`` as PostgreSQL can hold it, of the same length."""
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def as_json(value: Any) -> str:
    """``value`` as PostgreSQL can hold it."""
    text = json.dumps(value)
    return (
        json.dumps(with_texts(value, _storable, names=True))
        if _MAYBE_UNSTORABLE.search(text)
        else text
    )


def _storable(text: str) -> str:
    # A pair of surrogates is a character; only a half of one is not.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNSTORABLE.sub(_REPLACEMENT, whole)


def _loads(text: str | bytes) -> Any:
    """JSON with its keys in order, as they were written; jsonb sorts them by their length."""
    return json.loads(text, object_pairs_hook=lambda pairs: dict(sorted(pairs)))


def place_of(address: str, setting: str = "MEM_SEARCH_STORE") -> str:
    """The address without a password, for messages. Raises StorageError that names ``setting``."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise StorageError(
            f"{setting} is not a PostgreSQL address ({first_line(error)});"
            " it has the form postgresql://USER@HOST:5432/DATABASE"
        ) from error
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    port = f":{parts['port']}" if "port" in parts else ""
    return f"{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


def first_line(error: BaseException) -> str:
    """What ``error`` says, in one line."""
    return " ".join(str(error).split("\n")[0].split())
