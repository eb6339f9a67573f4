"""Notion's API: requests with a token, lists page after page, at the pace that it asks for.

The form of requests, lists, errors and limits is that of developers.notion.com/reference
(versioning, pagination, request limits). Requests go through ``outgoing``: the token reaches the
host that a setting names, at addresses that were checked, and no redirect takes it elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from aiohttp import ClientError, hdrs

from mem_search.errors import SourceError
from mem_search.outgoing import RefusedReceiver, check_url, open_session, refusal_in

VERSION: Final = "2022-06-28"
"""Of the API: the last one in which a database is what has rows."""

PAGE_SIZE: Final = 100
"""The most of a list in one reply."""

SECONDS: Final = 30.0
MAX_REPLY_BYTES: Final = 16 << 20
ATTEMPTS: Final = 4
MAX_WAIT_SECONDS: Final = 60
"""A longer wait is left to the next reading, which goes on where this one ended."""

_BUSY: Final = (429, 502, 503, 504, 529)
"""Statuses after which the same request may be answered."""


class RefusedNotion(RefusedReceiver):
    """Notion's API has an address that the worker must not use."""

    setting = "MEM_SEARCH_FETCH_ALLOW"
    thing = "an API"
    unnamed = "the token is MEM_SEARCH_NOTION_TOKEN"


class Refused(SourceError):
    """Notion does not answer this request, whenever it is asked."""


class Gone(Refused):
    """There is no such page or block, or it is not shared with the token any more."""


class Notion:
    """The API at ``url``. Raises SourceError for an address that must not be used."""

    def __init__(
        self,
        url: str,
        token: str,
        allowed: Collection[str] = (),
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._base = url.rstrip("/")
        try:
            check_url(self._base, allowed, RefusedNotion)
        except RefusedNotion as error:
            raise SourceError(f"MEM_SEARCH_NOTION_URL: {error.message}") from error
        self._token, self._allowed, self._wait = token, allowed, wait

    def listed(self, path: str, body: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Every item of a list, which is asked by POST with ``body`` or else by GET.

        Raises Gone, and SourceError for what cannot be read.
        """
        cursor: str | None = None
        while True:
            place = {"page_size": PAGE_SIZE, **({"start_cursor": cursor} if cursor else {})}
            reply = (
                self.asked("GET", path, params={key: str(each) for key, each in place.items()})
                if body is None
                else self.asked("POST", path, body={**body, **place})
            )
            if not isinstance(items := reply.get("results"), list):
                raise SourceError(f"Notion answers {path} with something else than a list")
            yield from (each for each in items if isinstance(each, dict))
            last, cursor = cursor, reply.get("next_cursor")
            if not reply.get("has_more") or not isinstance(cursor, str):
                return
            if cursor == last:
                raise SourceError(f"Notion's list {path} does not go on")

    def asked(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The object that answers one request, after the waits that are asked for."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                status, pause, content = asyncio.run(self._sent(method, path, params, body))
            except (ClientError, OSError, ValueError, RefusedReceiver) as error:
                if (refused := refusal_in(error)) is not None:
                    raise SourceError(f"MEM_SEARCH_NOTION_URL: {refused.message}") from None
                status, pause, content = 0, 0, type(error).__name__.encode()
            if status == 200:
                return _object(content)
            if status and status not in _BUSY:
                raise _refusal(status, path, content)
            pause = pause or 2**attempt
            if attempt == ATTEMPTS or pause > MAX_WAIT_SECONDS:
                why = f"status {status}" if status else content.decode()
                raise SourceError(
                    f"Notion does not answer now ({why}); the next reading goes on from here"
                )
            self._wait(pause)
        raise AssertionError  # the last attempt returns or raises

    async def _sent(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
    ) -> tuple[int, int, bytes]:
        """(status, seconds that it asks to wait, content). Raises what aiohttp raises."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Notion-Version": VERSION,
            "Accept-Encoding": "identity",
        }
        async with (
            open_session(self._allowed, SECONDS, headers, refused=RefusedNotion) as session,
            session.request(
                method, self._base + path, params=params, json=body, allow_redirects=False
            ) as reply,
        ):
            content = bytearray()
            async for piece in reply.content.iter_any():
                content += piece
                if len(content) > MAX_REPLY_BYTES:
                    raise SourceError(
                        f"Notion's reply to {path} is larger than {MAX_REPLY_BYTES >> 20} MB"
                    )
            asked = reply.headers.get(hdrs.RETRY_AFTER, "")
            return reply.status, int(asked) if asked.isdecimal() else 0, bytes(content)


def _object(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise SourceError("Notion answers with something else than a JSON object")
    return answer


def _refusal(status: int, path: str, content: bytes) -> SourceError:
    if status == 401:
        return SourceError("Notion refuses the token; give another in MEM_SEARCH_NOTION_TOKEN")
    if status == 403:
        return SourceError("the token may not read content; allow it in Notion's settings")
    if status == 404:
        return Gone(f"{path} is not there, or not shared with the token")
    try:
        code = str(_object(content).get("code", ""))[:60]
    except SourceError:
        code = ""
    kind = Refused if status == 400 else SourceError
    return kind(f"Notion answers {path} with status {status} {code}".rstrip())
