"""Tombstones: keyed hashes of the identities of forgotten records (ADR 0021).

The identity is source, id and kind. A tombstone from before 2026-11-23 knows no kind. A capture
that is told again has other ids and times, so an agent's session is refused as well: the session
itself once none of its records is left, and the words of each record that was forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mem_search.model import Draft
from mem_search.model.forgetting import SESSION, TOLD, Identity, Tombstone, of_session

KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 16
MAX_KEYS: Final = 100
"""Stores whose tombstones are taken over: every draft is hashed with each key."""

_SAID: Final = "said"
"""The kind in the identity of words of a session, which belong to no source."""


def digest(key: bytes, source: str, source_id: str, kind: str) -> bytes:
    """The first 16 bytes of HMAC-SHA256 (RFC 2104) over the identity.

    An id that was completed with its kind (``IngestStore.store_batch``) counts as it was given.
    """
    given = source_id.removesuffix(f"#{kind}") if kind else source_id
    identity = "\0".join((source, given, kind)).encode("utf-8", "surrogatepass")
    return hmac.digest(key, identity, "sha256")[:DIGEST_BYTES]


def of_words(session: str, text: str) -> Identity:
    """The identity of words that were said in a session, whatever record has them."""
    said = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return "", f"{session}\0{said}", _SAID


def akin(draft: Draft) -> Iterator[Identity]:
    """What may have been forgotten instead of the draft, and refuses it then."""
    for kind, source_id in draft.earlier:
        if kind in (SESSION, TOLD):
            yield of_session(source_id)
            yield of_words(source_id, draft.text)
        else:
            yield draft.source, source_id, kind


def forgotten_since(times: Mapping[Identity, int], draft: Draft, made: int) -> int | None:
    """When what is ``akin`` to a draft of the time ``made`` was forgotten; None if never.

    ``times`` are of those that were, in ms. What was said after it was forgotten is something new.
    Words that are only told again, or of which nobody knows when they were said, are not.
    """
    is_told = any(kind == TOLD for kind, _ in draft.earlier)
    always = {_SAID} if is_told else {_SAID, SESSION} if draft.created_at is None else set()
    found = ((times.get(each), each[2]) for each in akin(draft))
    return max(
        (at for at, kind in found if at is not None and (made <= at or kind in always)),
        default=None,
    )


def lifted_with(draft: Draft) -> Iterator[Identity]:
    """What is no longer refused once somebody wants this draft back."""
    yield draft.source, draft.source_id, draft.kind
    yield from akin(draft)
    if draft.session:
        yield of_session(draft.session)
        yield of_words(draft.session, draft.text)


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
