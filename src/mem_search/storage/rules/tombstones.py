"""Tombstones: keyed hashes of the identities of forgotten records (ADR 0021).

The identity is source, id and kind. A tombstone from before 2026-11-23 knows no kind.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mem_search.model.forgetting import Tombstone

KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 16
MAX_KEYS: Final = 100
"""Stores whose tombstones are taken over: every draft is hashed with each key."""


def digest(key: bytes, source: str, source_id: str, kind: str) -> bytes:
    """The first 16 bytes of HMAC-SHA256 (RFC 2104) over the identity.

    An id that was completed with its kind (``IngestStore.store_batch``) counts as it was given.
    """
    given = source_id.removesuffix(f"#{kind}") if kind else source_id
    identity = "\0".join((source, given, kind)).encode("utf-8", "surrogatepass")
    return hmac.digest(key, identity, "sha256")[:DIGEST_BYTES]


def numbers_of(records: Iterable[Sequence[Any]], tombstones: Sequence[Tombstone]) -> list[int]:
    """The numbers of those ``records`` (number, source, source id, kind) that these are of."""
    by_key: dict[bytes, set[bytes]] = {}
    for each in tombstones:
        by_key.setdefault(each.key, set()).add(each.digest)
    return [
        number
        for number, *identity in records
        if any(
            digest(key, identity[0], identity[1], kind) in digests
            for key, digests in by_key.items()
            for kind in {identity[2], ""}  # one without a kind refuses every kind
        )
    ]
