"""What was said about a file that was sent, on the records that a source reads in it.

The source ``files`` does this for a document. Of other files the source makes the records: a
message is an e-mail with its attachments, an export holds many. What is said of one thing, its id,
title, time and address, is of the first record; tags, project and metadata are of every record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mem_search.model import Batch, Draft
from mem_search.model.records import CONTENT_ID
from mem_search.text.search_fields import DATED_BY

OF_ONE: Final = ("source_id", "title", "created_at", "url")
"""What can be said of one record alone; the rest holds for all that a file has."""


def described(batches: Iterable[Batch], stated: Mapping[str, str]) -> Iterator[Batch]:
    """The batches of a file with what ``stated`` (``sources.base.UPLOADED``) says of it."""
    is_first = True
    for batch in batches:
        drafts = [_of_all(draft, stated) for draft in batch.drafts]
        if drafts and is_first:
            drafts, is_first = _of_first(drafts, stated), False
        yield replace(batch, drafts=tuple(drafts))


def _of_all(draft: Draft, stated: Mapping[str, str]) -> Draft:
    noted = {name: stated[name] for name in ("source_type",) if name in stated}
    return replace(
        draft,
        project=stated.get("project") or draft.project,
        tags=tuple(dict.fromkeys([*json.loads(stated.get("tags", "[]")), *draft.tags])),
        metadata={**draft.metadata, **noted, **json.loads(stated.get("metadata", "{}"))},
    )


def _of_first(drafts: Sequence[Draft], stated: Mapping[str, str]) -> list[Draft]:
    first, *others = drafts
    changed: dict[str, Any] = {name: stated[name] for name in ("title", "url") if name in stated}
    said = dict(first.metadata)
    if "created_at" in stated:
        changed["created_at"] = int(stated["created_at"])
        said[DATED_BY] = "upload"
    if own := stated.get("source_id"):
        changed["source_id"] = own
        said["sha256"] = stated.get("sha256", "")
        said.pop(CONTENT_ID, None)  # who gives an id says by it which message this is
        others = [_renamed(each, first.source_id, own) for each in others]
    return [replace(first, **changed, metadata=said), *others]


def _renamed(draft: Draft, old: str, new: str) -> Draft:
    """``draft`` with its links and what it is attached to under the ``new`` id."""
    links = tuple(replace(each, to=new) if each.to == old else each for each in draft.links)
    said = {name: new if value == old else value for name, value in draft.metadata.items()}
    return replace(draft, links=links, metadata=said)
