"""``/api/v1/shares``: a scope or a saved search that another user may read.

A share is a token that nobody has the secret of: it is listed, expires and is revoked as one, and the
user whom it names asks with the header ``X-Mem-Search-Share``. ``runtime.within_scope`` holds what
they see.
"""

from __future__ import annotations

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError, MissingField, NotFound
from mem_search.features.access.http import Lifetime, User
from mem_search.http.core.parameters import Body
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.schemas import Deleted
from mem_search.model.access import SAVED, Token
from mem_search.renderers.schema import Time, schema


@schema
class Share:
    """What a user shows another one: a `scope`, or a `saved_search`. `giver` is empty for the owner.

    Whoever is named in `with_user` asks with the header `X-Mem-Search-Share: NAME`.
    """

    name: str
    giver: str
    with_user: str
    scope: str | None
    saved_search: str | None
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None

    @classmethod
    def of(cls, token: Token) -> Share:
        is_saved = token.scope.startswith(SAVED)
        return cls(
            name=token.name, giver=token.user, with_user=token.shared_with,
            scope=None if is_saved else token.scope,
            saved_search=token.scope.removeprefix(SAVED) if is_saved else None,
            created_at=token.created_at, expires_at=token.expires_at,
            last_used_at=token.last_used_at,
        )  # fmt: skip


@schema
class Shares:
    """What the caller shows to others, and what others show to the caller."""

    given: list[Share]
    received: list[Share]


class ShareBody(Body):
    """What to show to whom."""

    with_user: User = Field(description="The user who may read it", min_length=1)
    scope: str = Field(default="", max_length=64, description="The records in this scope")
    saved_search: str = Field(
        default="",
        max_length=64,
        description="Instead: the records with all words and fields of this saved search",
    )
    expires: Lifetime = Field(default="", description="12h, 90d, 4w; never when left out")


async def create(call: Call) -> web.StreamResponse:
    """Show a user the records of a scope or of a saved search; they cannot change them."""
    body, runtime = call.json_body(ShareBody), call.runtime
    if bool(body.scope) == bool(body.saved_search):
        raise MissingField("give either scope or saved_search", field="scope")
    if body.with_user == call.caller.user:
        raise InputError("these are your own records", field="with_user")
    if body.scope:
        scope = await runtime.store.scopes.get(body.scope)
        if scope is None:
            raise InputError(f"there is no scope {body.scope}", field="scope")
        shown = scope.name
    else:
        shown = SAVED + (await runtime.research.saved_searches.get(body.saved_search)).name
    token = await call.lifecycle.tokens.share(
        shown, giver=call.caller.user, with_user=body.with_user, expires=body.expires
    )
    return json_reply(Share.of(token), status=201)


async def listed(call: Call) -> web.StreamResponse:
    """What the caller shows to others, and what others show to the caller."""
    shares = [each for each in await call.lifecycle.tokens.listed() if each.shared_with]
    user = call.caller.user
    return json_reply(
        Shares(
            given=[Share.of(each) for each in shares if each.user == user],
            received=[Share.of(each) for each in shares if user and each.shared_with == user],
        )
    )


async def remove(call: Call) -> web.StreamResponse:
    """End a share, at once. Both the giver and the receiver may."""
    name, user = call.request.match_info["name"], call.caller.user
    for each in await call.lifecycle.tokens.listed():
        if each.name == name and each.shared_with and user in (each.user, each.shared_with):
            await call.lifecycle.tokens.revoke(name)
            return json_reply(Deleted(deleted=name))
    raise NotFound(f"there is no share {name[:60]!r} of yours; mem-search share list has them")


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/shares", listed, "List what is shared with whom", "saved", response=Shares, private=True),
    Route("POST", "/api/v1/shares", create, "Share a scope or a saved search with a user, to read", "saved", body=ShareBody, write=True, status=201, response=Share),
    Route("DELETE", "/api/v1/shares/{name}", remove, "End a share", "saved", write=True, response=Deleted),
)
