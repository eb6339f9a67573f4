"""The source `facebook-posts`: posts, comments and captions of Facebook and Instagram, from the
download of one's data. Each is a note, with its words, links, places and names of pictures.

The files have many forms, which change; so what has words is taken by the names of its fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.sources.conversations import fields, first_line, items, repaired
from mem_search.sources.whole_files import WholeFile, WholeFiles, head, opened, whole

NAME: Final = "facebook-posts"

_FILE: Final = pattern(
    r".*(?:posts?|comments?|photos|videos|albums?|stories|reels|notes|reviews|events?)(?:_\d{1,4})?\.json"
)
_MARKS: Final = (b'"data"', b'"media"', b'"string_map_data"', b'"attachments"', b'"comment"')
_SAID: Final = (
    "title", "post", "comment", "text", "caption", "description", "name", "address", "url", "value",
    "href", "start_timestamp_text", "question", "option", "message",
)  # fmt: skip
_TIMES: Final = ("timestamp", "creation_timestamp", "start_timestamp", "taken_timestamp")
_MAX_DEPTH: Final = 20


class FacebookPosts(WholeFiles):
    """A post has no id in the download: it gets one of its time and words."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        if not _FILE.fullmatch(path.name.lower()):
            return False
        start = head(path, 65_536)
        return b'timestamp"' in start and any(mark in start for mark in _MARKS)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        with opened(file.path) as export, export.text() as content:
            posts = whole(content)
        listed = items(posts) or [one for each in fields(posts).values() for one in items(each)]
        listed = listed or [fields(posts)]
        seen: dict[str, int] = {}
        empty = 0
        for post in listed:
            words: list[str] = []
            times: list[int] = []
            _collect(post, words, times, 0)
            said = "\n".join(dict.fromkeys(words))
            if not said:
                empty += 1
                continue
            at = times[0] * 1000 if times else None
            identity = hashlib.blake2b(f"{at}\n{said}".encode(), digest_size=12).hexdigest()
            seen[identity] = count = seen.get(identity, 0) + 1
            yield Draft(
                kind="note",
                source=NAME,
                source_id=identity if count == 1 else f"{identity}#{count}",
                text=said,
                title=first_line(said),
                created_at=at,
                metadata={"type": "post", "folder": Path(file.name).stem},
            )
        if empty:
            yield LedgerEntry(f"{file.name}:empty", "left", f"{empty} entries have no words")


def _collect(value: Any, words: list[str], times: list[int], depth: int) -> None:
    """Add the words and times in ``value``, in its order."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, str):
                said = repaired(each).strip()
                if key in _SAID and said:
                    words.append(said)
                elif key == "uri" and said:
                    words.append(said if "://" in said else f"({Path(said).name})")
            elif isinstance(each, int) and key in _TIMES and each > 0:
                times.append(each)
            elif isinstance(each, Mapping | list):
                _collect(each, words, times, depth + 1)
    else:
        for each in items(value):
            if isinstance(each, str):
                words.append(repaired(each))
            else:
                _collect(each, words, times, depth + 1)
