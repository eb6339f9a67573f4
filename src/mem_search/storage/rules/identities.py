"""Identities of records: ids of their own, and tombstones of those that were forgotten (ADR 0021).

Whoever writes an exchange file may number each kind from one. So a record keeps the id of its
source unless a record of another kind has it: else prompt 5 would replace observation 5. A mail
that uses the message id of another one does not replace that one, either.

A tombstone is a keyed hash of an identity, which is source, id and kind. One from before 2026-11-23
knows no kind. A capture that is told again has other ids and times, so an agent's session is
refused as well: the session itself once none of its records is left, and the words of each record
that was forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mem_search.model import Draft
from mem_search.model.forgetting import SESSION, TOLD, Identity, Tombstone, of_session
from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import CONTENT_ID

KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 16
MAX_KEYS: Final = 100
"""Stores whose tombstones are taken over: every draft is hashed with each key."""

MAX_SHARING: Final = 9
"""Things with one id; a person keeps a few copies of a session that went on."""

_BESIDE: Final = "~"
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


def sharing(source_id: str) -> list[str]:
    """The ids of what shares this one (``readings``)."""
    return [source_id, *(f"{source_id}{_BESIDE}{n}" for n in range(2, MAX_SHARING + 1))]


def refused_with(source: str, source_id: str, kind: str) -> Iterator[Identity]:
    """What is refused of a record that is forgotten: itself, and what tells of all that shares its
    id.
    """
    yield source, source_id, kind
    own, mark, number = source_id.rpartition(_BESIDE)
    if mark and number.isdecimal():
        yield source, own, f"{kind}{_BESIDE}"


def akin(draft: Draft) -> Iterator[Identity]:
    """What may have been forgotten instead of the draft, and refuses it then."""
    for kind, source_id in draft.earlier:
        if kind in (SESSION, TOLD):
            yield of_session(source_id)
            yield of_words(source_id, draft.text)
        else:
            yield draft.source, source_id, kind
            yield draft.source, source_id, f"{kind}{_BESIDE}"


def forgotten_since(times: Mapping[Identity, int], draft: Draft, made: int) -> int | None:
    """When what is ``akin`` to a draft of the time ``made`` was forgotten; None if never.

    ``times`` are of those that were, in ms. What was said after it was forgotten is something new.
    Words that are only told again, or of which nobody knows when they were said, are not.
    """
    is_told = any(kind == TOLD for kind, _ in draft.earlier)
    always = {_SAID} if is_told else {_SAID, SESSION} if draft.created_at is None else set()
    forgotten = ((times.get(each), each[2]) for each in akin(draft))
    later = (at for at, kind in forgotten if at is not None and (made <= at or kind in always))
    return max(later, default=None)


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


class TakenId(NamedTuple):
    """A stored record; ``content`` is its metadata ``CONTENT_ID``."""

    source_id: str
    kind: str
    content: str | None


def with_own_ids(
    items: Sequence[PreparedDraft], known: Callable[[str, str, str], Sequence[TakenId]]
) -> list[PreparedDraft]:
    """``items`` under ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    The first record with an id keeps it, so reading the same again gives the same ids. ``known``
    reads the stored records of a source with one of two ids.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_with_own_id(item, known, owners) for item in items]


def _with_own_id(
    item: PreparedDraft,
    known: Callable[[str, str, str], Sequence[TakenId]],
    owners: dict[tuple[str, str], str],
) -> PreparedDraft:
    """``owners`` are the kinds of earlier items of the batch, by (source, id)."""
    draft = item.draft
    apart = f"{draft.source_id}#{draft.kind}"
    stored = {each.source_id: each for each in known(draft.source, draft.source_id, apart)}
    same = stored.get(draft.source_id)
    content = draft.metadata.get(CONTENT_ID)
    if content and same and same.content not in (None, content):
        return replace(item, draft=replace(draft, source_id=f"{draft.source_id}#{content}"))
    key = (draft.source, draft.source_id)
    owner = same.kind if same else owners.get(key)
    if owner is None and apart not in stored:
        owners[key] = draft.kind
    elif owner != draft.kind:
        return replace(item, draft=replace(draft, source_id=apart))
    return item


def apart(name: str) -> tuple[str, str]:
    """The id and the content that ``Batch.released`` may name; no content is ""."""
    source_id, _, content = name.rpartition("#")
    return (source_id, content) if source_id else (name, "")
