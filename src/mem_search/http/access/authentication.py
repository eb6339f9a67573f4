"""The caller, from the Authorization header, and whether the caller may use a route.

An invalid credential is refused on every route that reads the store: a wrong token must never get
the records of another user.
"""

from __future__ import annotations

import secrets
from typing import Final

from aiohttp import web

from mem_search import secret_file
from mem_search.access.callers import NEEDED, NOBODY, OWNER, Caller, check_may_change
from mem_search.access.tokens import check_own
from mem_search.errors import Forbidden, StorageError, Unauthorized
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.routing import Route
from mem_search.settings import Settings

TOKEN: Final = web.AppKey("token", str)
_BYTES = 32


def read_or_create(settings: Settings) -> str:
    """The token. A new one is written whole or not at all, readable by its owner only.

    Two processes that start at once get the same token. Raises StorageError, or InputError for
    a user's token: the worker must not be started with it in the environment.
    """
    check_own(settings.token)
    if settings.token:
        return settings.token
    try:
        return secret_file.read_or_create(
            settings.token_file, lambda: secrets.token_urlsafe(_BYTES)
        )
    except OSError as error:
        raise StorageError(f"cannot keep the token in {settings.token_file}: {error}") from error


def matches(given: str, token: str) -> bool:
    """Whether ``given`` is the token, compared in constant time."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode("utf-8"))


def caller_of(request: web.Request) -> Caller:
    """Raises Unauthorized for an unknown or expired credential."""
    given = request.headers.getall("Authorization", ())
    if not given:
        return NOBODY
    scheme, _, secret = given[0].partition(" ")
    secret = secret.strip()
    if len(given) > 1 or scheme.lower() != "bearer" or not secret:
        raise Unauthorized("send one header 'Authorization: Bearer TOKEN', or none at all to read")
    if matches(secret, request.app[TOKEN]):
        return OWNER
    known = request.app[LIFECYCLE].tokens.caller(secret)
    if known is None:
        raise Unauthorized(
            "this token is unknown: it was revoked, or is another worker's;"
            " see: mem-search token list"
        )
    return known


def check_rights(route: Route, caller: Caller, *, remote: bool) -> None:
    """Raises Unauthorized where a token is missing, Forbidden where it is not sufficient."""
    if not caller.is_known:
        if route.write or remote:
            raise Unauthorized(NEEDED)
        return
    if route.only == "home" and not caller.owns_home:
        raise Forbidden("only the home's own token gives out and takes back others")
    if route.only and caller.user:
        raise Forbidden(
            "this reads or changes the worker's machine, which is not yours;"
            " send a file with POST /api/import/upload"
        )
    if route.changes:
        check_may_change(caller)
