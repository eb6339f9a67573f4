"""Creating and revoking tokens, and managing users, only for the home's own token; and
``/api/v1/shares``: a scope or a saved search that another user may read.

A share is a token that nobody has the secret of: it is listed, expires and is revoked as one, and the
user whom it names asks with the header ``X-Mem-Search-Share``. ``runtime.within_scope`` holds what
they see.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from aiohttp import web
from pydantic import AfterValidator, Field, WithJsonSchema

from mem_search.access.callers import USER, check_user, home_of
from mem_search.access.tokens import LIFETIME, NAME, check_lifetime, check_name
from mem_search.errors import InputError, MissingField, NotFound
from mem_search.http.core.parameter_types import NAME as SCOPE_NAME
from mem_search.http.core.parameter_types import check_shape
from mem_search.http.core.parameters import Body
from mem_search.http.core.replies import Deleted, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.core.user_runtimes import homes
from mem_search.model.access import SAVED, Token
from mem_search.renderers.schema import Count, Projection, Time, schema
from mem_search.validation import input_errors_as_invalid


@schema
class TokenInfo(Projection[Token]):
    """A token without its secret. `user` is empty for the owner of the worker, `scope` where it
    sees all records.
    """

    name: str
    user: str
    read_only: bool
    scope: str
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


@schema
class NewToken(TokenInfo):
    """A token with its secret, which is shown only once."""

    token: str


@schema
class TokenList:
    """All tokens, by name."""

    tokens: list[TokenInfo]


@schema
class RevokedToken:
    """The name of a token that is no longer accepted."""

    revoked: str


@schema
class UserInfo:
    """A user with a token or a store; `bytes` is the size of the store."""

    name: str
    tokens: list[str]
    bytes: Count
    last_used_at: Time | None


@schema
class UserList:
    """All users, by name."""

    users: list[UserInfo]


@schema
class RemovedUser:
    """A user who was removed, and the tokens that were revoked with them."""

    removed: str
    revoked: list[str]


def _checked(check: Callable[[str], object], *, optional: bool = False) -> Callable[[str], str]:
    """``check`` as a validator, so that all faults of a body are reported at once."""

    def validate(text: str) -> str:
        with input_errors_as_invalid():
            if text or not optional:
                check(text)
        return text

    return validate


def _shaped(pattern: re.Pattern[str], *, optional: bool = False) -> WithJsonSchema:
    shape = f"({pattern.pattern})?" if optional else pattern.pattern
    return WithJsonSchema({"type": "string", "pattern": f"^{shape}$"})


_Name = Annotated[str, AfterValidator(_checked(check_name)), _shaped(NAME)]
User = Annotated[
    str, AfterValidator(_checked(check_user, optional=True)), _shaped(USER, optional=True)
]
Lifetime = Annotated[
    str, AfterValidator(_checked(check_lifetime, optional=True)), _shaped(LIFETIME, optional=True)
]
ScopeName = Annotated[
    str, AfterValidator(_checked(check_shape, optional=True)), _shaped(SCOPE_NAME, optional=True)
]


class TokenBody(Body):
    """A new token."""

    name: _Name = Field(description="Its name, by which it is revoked; not secret")
    user: User = Field(
        default="", description="The user whose store it opens; the owner when left out"
    )
    read_only: bool = Field(default=False, description="Refuse all changes")
    scope: ScopeName = Field(
        default="", description="Show only records in this scope; such a token only reads"
    )
    expires: Lifetime = Field(
        default="", description="Lifetime: 12h, 90d, 4w; it never expires when left out"
    )


async def create_token(call: Call) -> web.StreamResponse:
    """Create a token. Only this reply contains its secret."""
    body = call.json_body(TokenBody)
    if body.scope and not body.user and await call.runtime.store.scopes.get(body.scope) is None:
        raise InputError(
            f"there is no scope {body.scope}; make it first: mem-search scope add", field="scope"
        )
    token, secret = await call.lifecycle.tokens.create(
        body.name, user=body.user, read_only=body.read_only, expires=body.expires, scope=body.scope
    )
    return json_reply(NewToken.of(token, token=secret), status=201)


async def tokens(call: Call) -> web.StreamResponse:
    """Every token, without its secret."""
    return json_reply(
        TokenList(tokens=[TokenInfo.of(token) for token in await call.lifecycle.tokens.listed()])
    )


async def revoke_token(call: Call) -> web.StreamResponse:
    """Revoke a token."""
    token = await call.lifecycle.tokens.revoke(call.request.match_info["name"])
    return json_reply(RevokedToken(revoked=token.name))


async def users(call: Call) -> web.StreamResponse:
    """All users with a token or a store."""
    home, known = call.lifecycle.settings.home, await call.lifecycle.tokens.listed()
    return json_reply(UserList(users=await asyncio.to_thread(_users, home, known)))


async def remove_user(call: Call) -> web.StreamResponse:
    """Revoke every token of a user and delete everything that they stored."""
    user = check_user(call.request.match_info["name"], "name")
    revoked = await call.lifecycle.tokens.revoke_all(user)
    had_home = home_of(call.lifecycle.settings.home, user).is_dir()
    if not (revoked or had_home):
        raise NotFound(f"there is no user {user}; see: mem-search user list", field="name")
    if had_home:
        await call.lifecycle.users.remove(user)
    return json_reply(RemovedUser(removed=user, revoked=[token.name for token in revoked]))


def _users(home: Path, known: list[Token]) -> list[UserInfo]:
    stored = {user: _size(place) for user, place in homes(home)}
    names = sorted({token.user for token in known if token.user} | set(stored))
    return [
        UserInfo(
            name=name,
            tokens=[token.name for token in known if token.user == name],
            bytes=stored.get(name, 0),
            last_used_at=max((t.last_used_at or 0 for t in known if t.user == name), default=0)
            or None,
        )
        for name in names
    ]


def _size(home: Path) -> int:
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


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


async def create_share(call: Call) -> web.StreamResponse:
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


async def shares(call: Call) -> web.StreamResponse:
    """What the caller shows to others, and what others show to the caller."""
    known = [each for each in await call.lifecycle.tokens.listed() if each.shared_with]
    user = call.caller.user
    return json_reply(
        Shares(
            given=[Share.of(each) for each in known if each.user == user],
            received=[Share.of(each) for each in known if user and each.shared_with == user],
        )
    )


async def end_share(call: Call) -> web.StreamResponse:
    """End a share, at once. Both the giver and the receiver may."""
    name, user = call.request.match_info["name"], call.caller.user
    for each in await call.lifecycle.tokens.listed():
        if each.name == name and each.shared_with and user in (each.user, each.shared_with):
            await call.lifecycle.tokens.revoke(name)
            return json_reply(Deleted(deleted=name))
    raise NotFound(f"there is no share {name[:60]!r} of yours; mem-search share list has them")


# fmt: off
ROUTES = (
    Route("POST", "/api/v1/tokens", create_token, "Create a token", "access", body=TokenBody, write=True, only="home", status=201, response=NewToken, errors=(409,)),
    Route("GET", "/api/v1/tokens", tokens, "List tokens", "access", write=True, only="home", response=TokenList),
    Route("DELETE", "/api/v1/tokens/{name}", revoke_token, "Revoke a token", "access", write=True, only="home", response=RevokedToken),
    Route("GET", "/api/v1/users", users, "List users who have a store of their own", "access", write=True, only="home", response=UserList),
    Route("DELETE", "/api/v1/users/{name}", remove_user, "Delete a user and everything that they stored", "access", write=True, only="home", response=RemovedUser, errors=(409,)),
    Route("GET", "/api/v1/shares", shares, "List what is shared with whom", "saved", response=Shares, private=True),
    Route("POST", "/api/v1/shares", create_share, "Share a scope or a saved search with a user, to read", "saved", body=ShareBody, write=True, status=201, response=Share),
    Route("DELETE", "/api/v1/shares/{name}", end_share, "End a share", "saved", write=True, response=Deleted),
)
