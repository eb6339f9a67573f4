"""What access control keeps in the store, so that all workers of one store decide alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mem_search.model.access import Allowance, BrowserSession, Policy, Token


class TokenStore(Protocol):
    """Tokens by the digest of their secret, never the secret."""

    async def find(self, digest: bytes) -> Token | None:
        """The token whose secret has this digest, whichever worker created it."""
        ...

    async def all(self) -> list[Token]:
        """All tokens by name."""
        ...

    async def add(self, token: Token) -> bool:
        """Add a token; False when the name is taken."""
        ...

    async def remove(self, names: Sequence[str]) -> list[Token]:
        """Remove tokens; returns those that there were, by name."""
        ...

    async def note_used(self, at: Mapping[str, int]) -> None:
        """name → when the token was last used. An earlier time changes nothing."""
        ...


class LimitStore(Protocol):
    """The requests that were granted within the last hour, by whose limit and by policy.

    The count is exact over any hour, whichever workers grant, and is kept over restarts.
    """

    async def take(
        self, budget: str, policy: Policy, count: int = 1, *, now: int | None = None
    ) -> Allowance:
        """Grant ``count`` more requests of ``budget`` if the policy has room for all of them.

        ``now`` is milliseconds since 1970; the store's own clock when it is left out. A clock that
        was set back makes no request count for longer than from now on.
        """
        ...

    async def expire(self, before: int) -> None:
        """Drop what was granted before."""
        ...


class LoginStore(Protocol):
    """Logins of browsers: links by the digest of their code, sessions by that of their secret."""

    async def keep_link(self, digest: bytes, ends: int, most: int) -> None:
        """Keep a link until the second ``ends``; of more than ``most`` the oldest go."""
        ...

    async def take_link(self, digest: bytes, now: int) -> bool:
        """Use a link up. True for one caller only, and only before it has ended."""
        ...

    async def put_key(self, key: bytes) -> None:
        """The key of the worker's home, in place of the one that this home had before.

        A session counts while its key is that of a home whose workers use the store.
        """
        ...

    async def begin(self, session: BrowserSession, unused_since: int, most: int) -> None:
        """Add a session. Sessions that were not used since then are gone; of more than ``most``
        those that were not used for longest.
        """
        ...

    async def session(self, digest: bytes) -> BrowserSession | None:
        """The session whose secret has this digest, whichever worker began it."""
        ...

    async def note_session(self, name: str, at: int) -> None:
        """When the session was last used."""
        ...

    async def sessions(self) -> list[BrowserSession]:
        """All sessions, the last used first."""
        ...

    async def end_session(self, name: str) -> bool:
        """End a session; False when there is none with this id."""
        ...
