"""Tombstones: keyed hashes of the identities of forgotten records (ADR 0025).

The identity is source, id and kind. A tombstone from before 2026-11-23 knows no kind.
"""

from __future__ import annotations

import hmac
from typing import Final

KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 16
MOST_KEYS: Final = 100
"""Stores whose tombstones are taken over: every draft is hashed with each key."""


def digest(key: bytes, source: str, source_id: str, kind: str) -> bytes:
    """The first 16 bytes of HMAC-SHA256 (RFC 2104) over the identity.

    An id that was completed with its kind (``IngestStore.store_batch``) counts as it was given.
    """
    given = source_id.removesuffix(f"#{kind}") if kind else source_id
    identity = "\0".join((source, given, kind)).encode("utf-8", "surrogatepass")
    return hmac.digest(key, identity, "sha256")[:DIGEST_BYTES]
