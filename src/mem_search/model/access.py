"""Access: the tokens that the worker has issued."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A token by the digest of its secret. ``user`` is empty for the owner of the machine.

    Times are milliseconds since 1970.
    """

    name: str
    user: str
    digest: bytes
    read_only: bool
    created_at: int
    expires_at: int | None = None
    last_used_at: int | None = None
