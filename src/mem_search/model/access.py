"""Access: tokens that the worker has issued, browsers that it knows, and what a caller may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SAVED: Final = "saved:"
"""How a scope begins that is what a saved search of this name finds."""

HOUR: Final = 3600
"""Seconds over which requests are counted."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token by the digest of its secret. ``user`` is empty for the owner of the machine,
    ``scope`` for a token that sees all records. With ``shared_with`` it is a share: nobody has its
    secret, and that user asks by its name.

    Times are milliseconds since 1970.
    """

    name: str
    user: str
    digest: bytes
    read_only: bool
    created_at: int
    expires_at: int | None = None
    last_used_at: int | None = None
    scope: str = ""
    shared_with: str = ""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that is logged in, by the digest of its secret; ``browser`` says which one it is.

    ``key`` stands for the home's token, with which the session ends. Times are milliseconds since
    1970.
    """

    id: str
    digest: bytes
    key: bytes
    browser: str
    began_at: int
    used_at: int


@dataclass(frozen=True, slots=True)
class Policy:
    """At most ``quota`` requests in any ``seconds``; 0 means no limit. Headers show ``name``."""

    name: str
    quota: int
    seconds: int = HOUR


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a policy has left: ``remaining`` requests within the next ``reset`` seconds.

    ``count`` is the number of requests that were counted at once.
    """

    policy: Policy
    granted: bool
    remaining: int
    reset: int
    count: int = 1
