"""What was asked: the steps of research chains and the log of searches; and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple
from typing import Any, Final

from mem_search.model.research import (
    IndexState,
    Operation,
    OperationFilter,
    Session,
    StoredResult,
)
from mem_search.model.statistics import AskedQuery, LoggedSearch
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.database import Repository, reads, writes, writes_beside
from mem_search.storage.rules.asked import MOST_LOGGED, MOST_SHARING, asked_queries

_COLUMNS = (
    "id, session_id, parent_id, type, query, mode, content_types, request, redacted, results,"
    " total_count, took_ms, report, index_state, created_at"
)
_LOGGED = "at, query, filters, mode, total, took_ms, surface"
_SINCE_EVER: Final = 0


class PostgresResearch(Repository):
    """``ports.ResearchStore`` over the table ``search_operations``."""

    @writes
    def add(self, connection: Connection, operation: Operation) -> None:
        connection.execute("delete from search_operations where id = %s", (operation.id,))
        connection.execute(
            f"insert into search_operations({_COLUMNS})"
            " values(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                operation.id,
                operation.session_id,
                operation.parent_id,
                operation.type,
                operation.query,
                operation.mode,
                Jsonb(list(operation.content_types)),
                Jsonb(operation.request),
                operation.redacted,
                Jsonb([[each.ref, each.digest, each.relevance] for each in operation.results]),
                operation.total_count,
                operation.took_ms,
                Jsonb(operation.report),
                Jsonb(asdict(operation.index_state)),
                operation.created_at,
            ),
        )

    @reads
    def get(self, connection: Connection, operation: str) -> Operation | None:
        row = connection.maybe(
            f"select {_COLUMNS} from search_operations where id = %s", (operation,)
        )
        return _operation(row) if row else None

    @reads
    def chain_length(self, connection: Connection, operation: str) -> int:
        return connection.count(
            "with recursive chain(id) as ("
            ' select %s::text collate "C" union all select o.parent_id from search_operations o'
            " join chain on o.id = chain.id where o.parent_id is not null)"
            " select count(*) from chain",
            (operation,),
        )

    @reads
    def newest(
        self, connection: Connection, wanted: OperationFilter, limit: int, offset: int
    ) -> tuple[list[Operation], int]:
        condition = (
            "from search_operations where %(session_id)s in ('', session_id)"
            " and %(type)s in ('', type)"
            " and (%(since)s::bigint is null or created_at >= %(since)s)"
            " and (%(until)s::bigint is null or created_at <= %(until)s)"
        )
        values = {**asdict(wanted), "limit": limit, "offset": offset}
        total = connection.count(f"select count(*) {condition}", values)
        rows = connection.execute(
            f"select {_COLUMNS} {condition} order by seq desc limit %(limit)s offset %(offset)s",
            values,
        )
        return [_operation(row) for row in rows], total

    @reads
    def of_session(self, connection: Connection, session: str) -> list[Operation]:
        rows = connection.execute(
            f"select {_COLUMNS} from search_operations where session_id = %s order by seq",
            (session,),
        )
        return [_operation(row) for row in rows]

    @reads
    def sessions(
        self, connection: Connection, limit: int, offset: int
    ) -> tuple[list[Session], int]:
        total = connection.count(
            "select count(distinct session_id) from search_operations where session_id != ''"
        )
        rows = connection.execute(
            "select s.session_id, s.operations, o.query, o.created_at, s.last_at from ("
            " select session_id, count(*) as operations, max(created_at) as last_at,"
            " min(seq) as first, max(seq) as last from search_operations"
            " where session_id != '' group by session_id) s"
            " join search_operations o on o.seq = s.first order by s.last desc"
            " limit %s offset %s",
            (limit, offset),
        )
        return [Session(*row) for row in rows], total

    @writes
    def forget_session(self, connection: Connection, session: str) -> int:
        # Steps of other sessions that follow from these go with them and are not counted.
        count = connection.count(
            "select count(*) from search_operations where session_id = %s", (session,)
        )
        connection.execute("delete from search_operations where session_id = %s", (session,))
        return count


class PostgresSearchLog(Repository):
    """``ports.SearchLogStore`` over the table ``search_log``."""

    @writes_beside
    def add(self, connection: Connection, searches: Sequence[LoggedSearch]) -> None:
        connection.many(
            f"insert into search_log({_LOGGED}) values(%s, %s, %s, %s, %s, %s, %s)",
            [astuple(search) for search in searches],
        )
        # Numbers are those of all users, so the oldest that stays is looked up.
        connection.execute(
            "delete from search_log where id <="
            " (select id from search_log order by id desc offset %s limit 1)",
            (MOST_LOGGED,),
        )

    @reads
    def popular(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return [asked for asked, _ in _asked(connection, since)][:limit]

    @reads
    def without_results(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[AskedQuery]:
        return [asked for asked, found in _asked(connection, since) if not found][:limit]

    @reads
    def slow(
        self, connection: Connection, limit: int, since: int | None = None
    ) -> list[LoggedSearch]:
        rows = connection.execute(
            f"select {_LOGGED} from search_log where at >= %s"
            " order by took_ms desc, id desc limit %s",
            (_SINCE_EVER if since is None else since, limit),
        )
        return [LoggedSearch(*row) for row in rows]

    @writes
    def clear(self, connection: Connection) -> int:
        return connection.execute("delete from search_log").rowcount


def sharing(connection: Connection, words: Sequence[str], limit: int) -> list[AskedQuery]:
    """Queries that found something and contain one of ``words``, the most frequent first.

    Only the newest are read, which limits the time.
    """
    newest = (
        "id > (select max(id) from search_log) - %s and exists"
        " (select 1 from unnest(%s::text[]) w where strpos(lower(query), w) > 0)"
    )
    asked = _asked(connection, None, newest, (MOST_SHARING, list(words)))
    return [each for each, found in asked if found][:limit]


def _asked(
    connection: Connection, since: int | None, condition: str = "true", values: Sequence[Any] = ()
) -> list[tuple[AskedQuery, int]]:
    return asked_queries(
        connection.execute(
            "select query, filters, at, total from search_log"
            f" where at >= %s and {condition} order by id desc",
            (_SINCE_EVER if since is None else since, *values),
        )
    )


def _operation(row: Sequence[Any]) -> Operation:
    values = dict(zip(Operation.__slots__, row, strict=True))
    return Operation(
        **{
            **values,
            "content_types": tuple(values["content_types"]),
            "results": tuple(StoredResult(*each) for each in values["results"]),
            "index_state": IndexState(**values["index_state"]),
        }
    )
