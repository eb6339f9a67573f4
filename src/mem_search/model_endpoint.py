"""An endpoint of a model: requests and replies in JSON, and a key that reaches nobody else.

Redirects are refused, because following one would send the key to another host. Loopback uses no
proxy. The key is removed from every message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from mem_search.errors import InputError, ModelUnavailable

MOST_REPLY: Final = 64 << 20
"""Bytes of a reply that are read."""

_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


class ModelEndpoint:
    """``url`` with its ``key``. ``title`` begins every message about it, ``of`` and ``field`` name
    the setting. Raises InputError for a URL that is not http(s) or has a user name.
    """

    def __init__(self, url: str, key: str = "", *, title: str, of: str, field: str) -> None:
        self.host, loopback = checked_host(url, of=of, field=field)
        self.url = url
        self._key = key
        self._title = title
        self._opener = build_opener(_NoRedirect(), *([ProxyHandler({})] if loopback else []))

    def post(
        self,
        body: Mapping[str, Any],
        seconds: float,
        *,
        most: int = MOST_REPLY,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The reply to one request, at most ``most`` bytes of it.

        ``headers`` replace the one with the key. Raises HTTPError for a status that is no success,
        ModelUnavailable without a usable answer.
        """
        if headers is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = Request(  # noqa: S310  http(s) only: see __init__
            self.url,
            json.dumps(body).encode("utf-8", "replace"),
            {"Content-Type": "application/json", "User-Agent": "mem-search", **headers},
        )
        try:
            with self._opener.open(request, timeout=seconds) as reply:
                return json.loads(reply.read(most))
        except HTTPError:
            raise
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise ModelUnavailable(self.message(f"no usable answer: {error}")) from error

    def message(self, what: str) -> str:
        """What the endpoint gave, without the key."""
        text = f"{self._title} {self.url} gave {what}"
        return text.replace(self._key, "…") if self._key else text


def checked_host(url: str, *, of: str, field: str) -> tuple[str, bool]:
    """host[:port] of a URL, and whether it is loopback. Raises InputError."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise InputError(
            f"the base URL of {of} must be http(s)://host[:port]/path, without a user name",
            field=field,
        )
    return parts.hostname + port, parts.hostname in _LOOPBACK


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Refuse the redirect: its status becomes an HTTPError."""
