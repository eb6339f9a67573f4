"""Ids that no record of another kind has.

Whoever writes an exchange file may number each kind from one. So a record keeps the id of its
source unless a record of another kind has it: else prompt 5 would replace observation 5. A mail
that uses the message id of another one does not replace that one, either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import CONTENT_ID


class Known(NamedTuple):
    """A stored record; ``content`` is its metadata ``CONTENT_ID``."""

    source_id: str
    kind: str
    content: str | None


def with_own_ids(
    items: Sequence[PreparedDraft], known: Callable[[str, str, str], Sequence[Known]]
) -> list[PreparedDraft]:
    """``items`` under ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    The first record with an id keeps it, so reading the same again gives the same ids. ``known``
    reads the stored records of a source with one of two ids.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_with_own_id(item, known, owners) for item in items]


def _with_own_id(
    item: PreparedDraft,
    known: Callable[[str, str, str], Sequence[Known]],
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
