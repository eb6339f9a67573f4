"""Who asks, by the Authorization header; and whether they may use a route.

A credential that is not valid is refused on every route that reads the store: a wrong token
must never be answered out of somebody else's records.
"""

from __future__ import annotations

from aiohttp import web

from mem_search.access.callers import NEEDED, NOBODY, OWNER, Caller, check_may_change
from mem_search.errors import Forbidden, Unauthorized
from mem_search.http.opening import OPENING
from mem_search.http.routing import Route
from mem_search.http.token import TOKEN, matches


def caller_of(request: web.Request) -> Caller:
    """Raises Unauthorized for a credential that nobody has, or that has expired."""
    given = request.headers.getall("Authorization", ())
    if not given:
        return NOBODY
    scheme, _, secret = given[0].partition(" ")
    secret = secret.strip()
    if len(given) > 1 or scheme.lower() != "bearer" or not secret:
        raise Unauthorized("send one header 'Authorization: Bearer TOKEN', or none at all to read")
    if matches(secret, request.app[TOKEN]):
        return OWNER
    known = request.app[OPENING].tokens.caller(secret)
    if known is None:
        raise Unauthorized(
            "nobody here has this token: it was revoked, or is another worker's;"
            " see: mem-search token list"
        )
    return known


def check_rights(route: Route, caller: Caller, *, remote: bool) -> None:
    """Raises Unauthorized where a token is needed, Forbidden where this one does not do."""
    if not caller.is_known:
        if route.write or remote:
            raise Unauthorized(NEEDED)
        return
    if route.only == "home" and not caller.owns_home:
        raise Forbidden("only the home's own token gives out and takes back others")
    if route.only and caller.user:
        raise Forbidden(
            "this reads or changes the worker's machine, which is not yours;"
            " records come in with POST /api/import/jsonl"
        )
    if route.changes:
        check_may_change(caller)
