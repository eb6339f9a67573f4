"""Tokens beside the home's own: create, look up, revoke. A secret is 32 random bytes that are shown
once; its SHA-256 is stored. A slow, salted hash is for secrets that people choose: 256 random bits
can be neither guessed nor looked up in a table, and every request pays for the hash. The digest is
looked up in an index. The time of that depends on the digest, which nobody can choose, so it says
nothing about a secret.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from mem_search import regular_file
from mem_search.access.callers import Caller, check_user
from mem_search.errors import Conflict, Forbidden, InputError, NotFound, StorageError, Unauthorized
from mem_search.model.access import Token
from mem_search.patterns import pattern
from mem_search.settings import Settings
from mem_search.storage.sql.access import StoredTokens
from mem_search.text import dates
from mem_search.text.dates import now_ms
from mem_search.text.redaction import refuse_secret

PREFIX: Final = "mst_"
"""Prefix of every secret, so that redaction and secret scanners recognise it."""

_BYTES: Final = 32
_SHARE_BYTES: Final = 6
"""Of the name of a share, which is no secret, and is not to be guessed all the same."""
NAME: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LIFETIME: Final = pattern(r"([1-9][0-9]{0,4})([hdw])")
_UNIT_MS: Final = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


class Tokens:
    """All tokens of a store, whichever of its workers created or revoked them.

    Each request asks the store, so that a revoked token is refused everywhere at once. ``flush``
    stores the last use of each, so that no request waits for a writer; that of a token which may
    only read stays in memory, because such a token writes nothing. ``now`` is milliseconds since
    1970.
    """

    def __init__(self, store: StoredTokens, now: Callable[[], int] = now_ms) -> None:
        self._store = store
        self._now = now
        self._used: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    async def caller(self, secret: str) -> Caller | None:
        """The token with this secret; None for an unknown one.

        Raises Unauthorized if expired, StorageError.
        """
        token = await self._store.find(digest(secret))
        if token is None:
            return None
        now = self._now()
        if token.expires_at is not None and token.expires_at <= now:
            raise Unauthorized(
                f"the token {token.name} has expired at {dates.iso(token.expires_at)};"
                " ask for a new one: mem-search token create"
            )
        (self._seen if token.read_only else self._used)[token.name] = now
        return Caller(
            user=token.user, token=token.name, is_known=True, may_change=not token.read_only,
            scope=token.scope,
        )  # fmt: skip

    async def create(
        self, name: str, *, user: str = "", read_only: bool = False, expires: str = "",
        scope: str = "",
    ) -> tuple[Token, str]:  # fmt: skip
        """A new token and its secret, which is not stored. ``expires`` is such as ``90d``.

        One that is limited to a ``scope`` only reads.

        Raises InputError naming the field, or Conflict when the name is taken.
        """
        now = self._now()
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        token = Token(
            name=check_name(name),
            user=check_user(user) if user else "",
            digest=digest(secret),
            read_only=read_only or bool(scope),
            created_at=now,
            expires_at=now + check_lifetime(expires) if expires else None,
            scope=scope,
        )
        if not await self._store.add(token):
            raise Conflict(
                f"there is a token {name} already; revoke it first, or choose another name",
                field="name",
            )
        return token, secret

    async def share(self, scope: str, *, giver: str, with_user: str, expires: str = "") -> Token:
        """A new share: a token without a secret, which ``with_user`` names to read ``scope``."""
        now = self._now()
        token = Token(
            name=f"share-{secrets.token_hex(_SHARE_BYTES)}",
            user=giver,
            digest=secrets.token_bytes(_BYTES),  # of no secret
            read_only=True,
            created_at=now,
            expires_at=now + check_lifetime(expires) if expires else None,
            scope=scope,
            shared_with=check_user(with_user, "with_user"),
        )
        if not await self._store.add(token):
            raise Conflict("there is such a share already; try again", field="name")
        return token

    async def shared(self, name: str, caller: Caller) -> Caller:
        """``caller`` as one who reads what the share of this name shows them. Raises Forbidden."""
        limited = caller.scope or not caller.user  # a token with a scope shows nothing beside it
        for token in () if limited else await self._store.all():
            ends = token.expires_at
            if token.name != name or token.shared_with != caller.user:
                continue
            if ends is None or ends > self._now():
                self._seen[name] = self._now()
                return replace(caller, may_change=False, scope=token.scope, of=token.user)
        raise Forbidden(f"nothing is shared with you as {name[:60]!r}; see: mem-search share list")

    async def revoke(self, name: str) -> Token:
        """Revoke a token. Raises NotFound."""
        for token in await self._remove([name]):
            return token
        raise NotFound(
            f"there is no token {name[:100]!r}; see: mem-search token list", field="name"
        )

    async def revoke_all(self, user: str) -> list[Token]:
        """Every token of one user, and what is shared with them."""
        return await self._remove(
            [each.name for each in await self._store.all() if user in (each.user, each.shared_with)]
        )

    async def listed(self) -> list[Token]:
        """By name, with the last use that is known."""
        used = self._seen | self._used
        return [
            replace(token, last_used_at=max(filter(None, known), default=None))
            for token in await self._store.all()
            for known in [(token.last_used_at, used.get(token.name))]
        ]

    async def flush(self) -> None:
        """Store the last use of tokens. Raises StorageError; the next call tries again."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._store.note_used(used)
        except BaseException:
            self._used = used | self._used
            raise

    async def _remove(self, names: list[str]) -> list[Token]:
        removed = await self._store.remove(names)
        for token in removed:
            self._used.pop(token.name, None)
            self._seen.pop(token.name, None)
        return removed


def read_or_create(settings: Settings) -> str:
    """The token. A new one is written whole or not at all, readable by its owner only.

    Two processes that start at once get the same token. Raises StorageError, or InputError for
    a user's token: the worker must not be started with it in the environment.
    """
    check_own(settings.token)
    if settings.token:
        return settings.token
    try:
        return regular_file.read_or_create_secret(
            settings.token_file, lambda: secrets.token_urlsafe(_BYTES)
        )
    except OSError as error:
        raise StorageError(f"cannot keep the token in {settings.token_file}: {error}") from error


def check_own(secret: str) -> None:
    """Raises InputError for the secret of a created token: as MEM_SEARCH_TOKEN of a worker it would
    give its user all rights of the home.
    """
    if secret.startswith(PREFIX):
        raise InputError(
            "MEM_SEARCH_TOKEN holds a created token, which cannot be the home's own;"
            " start the worker without it",
            field="token",
        )


def digest(secret: str) -> bytes:
    """The stored digest of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def check_name(name: str) -> str:
    """``name``, if it is a valid name of a token. Raises InputError."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} cannot name a token; write 1 to 64 letters, digits, . _ and -,"
            " a letter or digit first",
            field="name",
        )
    return refuse_secret(name)


def check_lifetime(text: str) -> int:
    """The milliseconds that ``12h``, ``90d`` or ``4w`` means. Raises InputError."""
    match = LIFETIME.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"{text[:40]!r} is not a lifetime; write hours, days or weeks: 12h, 90d, 4w",
            field="expires",
        )
    return int(match[1]) * _UNIT_MS[match[2]]
