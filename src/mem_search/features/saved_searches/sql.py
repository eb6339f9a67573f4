"""The tables ``saved_searches``, ``saved_told`` and ``notifications``.

A record that was forgotten disappears from the inbox too. Names ignore the case of ASCII letters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mem_search.errors import InputError
from mem_search.features.saved_searches.model import (
    MAX_IN_MESSAGE,
    MAX_LISTED,
    Match,
    Notification,
    SavedSearch,
    StoredPlan,
)
from mem_search.features.webhooks import sql as deliveries
from mem_search.model import Record
from mem_search.model.webhooks import Message
from mem_search.storage.sql import records
from mem_search.storage.sql.connection import (
    FREE,
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)
from mem_search.storage.sql.filters import NAMED
from mem_search.text.schedules import next_run

_COLUMNS = (
    "id, name, request, schedule, inbox, webhook_url, email, created_at, since, newest_record,"
    " ran_at, next_at, error"
)
_NOTIFICATIONS = (
    "select n.id, s.name, n.at, n.count, n.delivery_id, n.email_delivery_id, n.read_at,"
    " (select jsonb_agg(jsonb_build_array(t.record_id, t.changed))"
    " from (select m.record_id, m.changed from notification_matches m"
    " where m.notification_id = n.id order by m.place) t)"
    " from notifications n join saved_searches s on s.id = n.search_id"
)


MakeMessage = Callable[[Sequence[Match], Mapping[int, Record]], Message]
"""Makes a message of the new matches and the records of the first ``MAX_IN_MESSAGE``."""


class SavedSearchStore(Repository):
    """Saved searches, which records each has reported, and the inbox."""

    @writes
    def create(self, connection: Connection, name: str, plan: StoredPlan, at: int) -> bool:
        """Add one, which reports what is stored from now on; False when the name is taken."""
        return bool(
            connection.execute(
                "insert into saved_searches(name, request, schedule, inbox, webhook_url, email,"
                " created_at, since, next_at, newest_record) select %(name)s, %(request)s,"
                " %(schedule)s, %(inbox)s, %(url)s, %(email)s, %(at)s, %(at)s, %(next)s,"
                " coalesce(max(id), 0) from records where true on conflict do nothing",
                _values(name, plan, at),
            ).rowcount
        )

    @writes
    def change(self, connection: Connection, name: str, plan: StoredPlan, at: int) -> bool:
        """Change query, schedule or receivers; False when no search has the name.

        Reported records stay reported. A changed query looks at what is stored from now on.
        """
        row = connection.maybe(
            f"select request, since from saved_searches where {NAMED} for update", {"name": name}
        )
        if row is None:
            return False
        before, since = row
        same = from_json(before).get("search") == plan.request.get("search")
        connection.execute(
            "update saved_searches set schedule = %(schedule)s, inbox = %(inbox)s,"
            " webhook_url = %(url)s, email = %(email)s, next_at = %(next)s, error = '',"
            f" request = %(request)s, since = %(since)s where {NAMED}",
            {
                **_values(name, plan, at),
                "since": since if same else at,
            },
        )
        return True

    @reads
    def get(self, connection: Connection, name: str) -> SavedSearch | None:
        """The one of this name."""
        row = connection.maybe(
            f"select {_COLUMNS} from saved_searches where {NAMED}", {"name": name}
        )
        return _saved(row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[SavedSearch]:
        """All, by name."""
        rows = connection.execute(f"select {_COLUMNS} from saved_searches order by lower(name)")
        return [_saved(row) for row in rows]

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        """Delete one with its notifications; False when no search has the name."""
        deleted = connection.execute(f"delete from saved_searches where {NAMED}", {"name": name})
        return bool(deleted.rowcount)

    @writes
    def due(self, connection: Connection, now: int) -> list[str]:
        """The names of the searches that should have run by now, the longest waiting first.

        Without those that another living worker is running.
        """
        due = connection.execute(
            f"select id, name from saved_searches where next_at <= %s and {FREE}"
            " order by next_at, id for update skip locked",
            (now,),
        ).fetchall()
        connection.claim("saved_searches", [number for number, _ in due])
        return [name for _, name in due]

    @reads
    def next_at(self, connection: Connection) -> int | None:
        """When the next search runs; None when none has a schedule."""
        (at,) = connection.one("select min(next_at) from saved_searches")
        return None if at is None else int(at)

    @writes
    def set_next(self, connection: Connection, name: str, at: int) -> None:
        """When the search runs next."""
        connection.execute(
            f"update saved_searches set next_at = %(at)s where {NAMED}", {"name": name, "at": at}
        )

    @writes
    def note_failure(self, connection: Connection, saved: SavedSearch, at: int, error: str) -> None:
        """The run failed; the next one is that of its schedule."""
        _ran(connection, saved, at, since=saved.since, error=error)

    @writes
    def finish_run_and_notify(
        self,
        connection: Connection,
        saved: SavedSearch,
        matching: Sequence[tuple[int, str]],
        *,
        at: int,
        since: int,
        webhook: MakeMessage | None = None,
        email: MakeMessage | None = None,
    ) -> tuple[tuple[Match, ...], int | None]:
        """Store a run: the new ones of ``matching``, the notification and its messages.

        ``matching`` are (number, content hash in hex). New is a record that was not reported with
        this content. ``webhook`` and ``email`` make a message each; they are called inside the
        transaction and must be quick.
        Returns the matches and the number of the notification, None when nothing is new.
        """
        # The row is locked first, so that two workers that run the search report a record once.
        _ran(connection, saved, at, since=since)
        matches = _new_matches(connection, saved, matching)
        if not matches:
            return (), None
        named = [match.number for match in matches[:MAX_IN_MESSAGE]]
        queued: list[str | None] = []
        for make in (webhook, email):
            message = make(matches, records.fetch(connection, named)) if make else None
            if message is not None:
                deliveries.add(connection, message)
            queued.append(message.id if message else None)
        return tuple(matches), _notify(connection, saved, at, matches, queued)

    @reads
    def notifications(
        self, connection: Connection, search: str, limit: int, offset: int, *, unread: bool
    ) -> tuple[list[Notification], int]:
        """A page of the inbox, newest first, and how many there are; ``search`` "" is any."""
        wanted = (
            "where n.inbox and (%(name)s = ''"
            f" or s.id in (select id from saved_searches where {NAMED}))"
            + (" and n.read_at is null" if unread else "")
        )
        values = {"name": search, "limit": limit, "offset": offset}
        total = connection.count(
            "select count(*) from notifications n join saved_searches s on s.id = n.search_id"
            f" {wanted}",
            values,
        )
        rows = connection.execute(
            f"{_NOTIFICATIONS} {wanted} order by n.id desc limit %(limit)s offset %(offset)s",
            values,
        )
        return [_notification(row) for row in rows], total

    @writes
    def mark_read(self, connection: Connection, notification: int, at: int) -> Notification | None:
        """Mark a notification as read, unless it was; None when there is none."""
        connection.execute(
            "update notifications set read_at = coalesce(read_at, %s) where id = %s",
            (at, notification),
        )
        row = connection.maybe(f"{_NOTIFICATIONS} where n.id = %s", (notification,))
        return _notification(row) if row else None

    @writes
    def dismiss(self, connection: Connection, notification: int) -> bool:
        """Delete a notification; what it reported is not reported again."""
        return bool(
            connection.execute("delete from notifications where id = %s", (notification,)).rowcount
        )


def _values(name: str, plan: StoredPlan, at: int) -> dict[str, Any]:
    return {
        "name": name,
        "request": Json(plan.request),
        "schedule": plan.schedule,
        "inbox": plan.inbox,
        "url": plan.webhook_url,
        "email": plan.email,
        "next": _next(at, plan.schedule),
        "at": at,
    }


def _ran(
    connection: Connection, saved: SavedSearch, at: int, *, since: int, error: str = ""
) -> None:
    """The next run is that of its schedule after ``at``."""
    connection.execute(
        "update saved_searches set ran_at = %s, since = %s, error = %s, next_at = %s,"
        " worker = null where id = %s",
        (at, since, error, _next(at, saved.schedule), saved.id),
    )


def _notify(
    connection: Connection,
    saved: SavedSearch,
    at: int,
    matches: Sequence[Match],
    queued: Sequence[str | None],
) -> int:
    """Store the notification of the messages ``queued``; returns its number."""
    number = connection.count(
        "insert into notifications(search_id, at, count, inbox, delivery_id,"
        " email_delivery_id) values(%s, %s, %s, %s, %s, %s) returning id",
        (saved.id, at, len(matches), saved.inbox, *queued),
    )
    connection.many(
        "insert into notification_matches(notification_id, place, record_id, changed)"
        " values(%s, %s, %s, %s)",
        [
            (number, place, match.number, match.changed)
            for place, match in enumerate(matches[:MAX_LISTED])
        ],
    )
    return number


def _new_matches(
    connection: Connection, saved: SavedSearch, matching: Sequence[tuple[int, str]]
) -> list[Match]:
    """Those of ``matching`` (number, content hash in hex) that were not reported with this content;
    marks them as reported.
    """
    numbers = [number for number, _ in matching]
    reported = {
        (number, digest.hex())
        for number, digest in connection.execute(
            "select record_id, content_hash from saved_told"
            " where search_id = %s and record_id = any(%s::bigint[])",
            (saved.id, numbers),
        )
    }
    # A record that was deleted a moment ago cannot be reported.
    stored = set(
        connection.column("select id from records where id = any(%s::bigint[])", (numbers,))
    )
    new = [each for each in dict.fromkeys(matching) if each[0] in stored and each not in reported]
    connection.many(
        "insert into saved_told(search_id, record_id, content_hash) values(%s, %s, %s)",
        [(saved.id, number, bytes.fromhex(digest)) for number, digest in new],
    )
    known = {number for number, _ in reported}
    return [Match(number, number in known or number <= saved.newest_record) for number, _ in new]


def _next(at: int, schedule: str) -> int | None:
    """The next run; None by hand alone, and for what is no schedule, which the service tells."""
    try:
        return next_run(schedule, at) if schedule else None
    except InputError:
        return None


def _saved(row: Sequence[Any]) -> SavedSearch:
    number, name, request, schedule, inbox, *rest = row
    return SavedSearch(number, name, from_json(request), schedule, bool(inbox), *rest)


def _notification(row: Sequence[Any]) -> Notification:
    number, search, at, count, delivery, mail, read_at, matches = row
    told = tuple(Match(record, bool(changed)) for record, changed in from_json(matches) or ())
    return Notification(number, search, at, count, delivery, mail, read_at, told)
