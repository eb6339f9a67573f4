"""Replies about tokens and users."""

from __future__ import annotations

from mem_search.model.access import Token
from mem_search.renderers.projection import Projection
from mem_search.renderers.schema import Count, Time, schema


@schema
class TokenInfo(Projection[Token]):
    """A token without its secret. `user` is empty for the owner of the worker."""

    name: str
    user: str
    read_only: bool
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
