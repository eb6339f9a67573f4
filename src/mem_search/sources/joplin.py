"""The source `joplin`: a RAW export of Joplin, also as `.jex`, which is an archive of one.

Each item is a file: its text, an empty line, and its fields. Notes become records; notebooks and
tags are read with the notes that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import moment
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text import charsets

NAME: Final = "joplin"

_MAX_BYTES: Final = 20 * 2**20
_ITEM: Final = pattern(r"[0-9a-f]{32}\.md")
_FIELD: Final = pattern(r"(\w{1,60}): ?(.*)")
_KINDS: Final = {"1": "note", "2": "notebook", "4": "file", "5": "tag", "6": "tagged",
                 "13": "version"}  # fmt: skip
_MAX_ITEMS: Final = 200_000
_RESOURCE: Final = pattern(r"\]\(:/[0-9a-f]{32}\)")


class Joplin(WholeFiles):
    """The source id is the id of the note in Joplin."""

    name = NAME

    def recognises(self, path: Path) -> bool:
        if not _ITEM.fullmatch(path.name):
            return False
        return _is_item(head(path, 2**20), path.stem)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        data = read_regular_file(file.path, _MAX_BYTES)
        body, said = _parts(charsets.decoded(data).replace("\r\n", "\n"))
        kind = _KINDS.get(said.get("type_", ""), "item")
        if kind != "note":
            yield LedgerEntry(file.name, "left", f"it is not a note, but a {kind} of Joplin")
            return
        title, _, text = body.partition("\n")
        if said.get("encryption_applied") == "1":
            why = "the note is encrypted; let Joplin decrypt it, then export again"
            yield LedgerEntry(file.name, "failed", why)
            return
        notebooks, tags = _lists(str(file.path.parent))
        metadata: dict[str, Any] = {
            "folder": notebooks.get(said.get("parent_id", ""), ""),
            "author": said.get("author", ""),
        }
        yield Draft(
            kind="note",
            source=NAME,
            source_id=said.get("id") or Path(file.name).stem,
            text=_RESOURCE.sub("]", text.strip("\n")),
            title=title.strip(),
            created_at=moment(said.get("user_created_time") or said.get("created_time")),
            updated_at=moment(said.get("user_updated_time") or said.get("updated_time")),
            url=said.get("source_url", "") if "://" in said.get("source_url", "") else "",
            tags=tuple(tags.get(said.get("id", ""), ())),
            metadata={key: value for key, value in metadata.items() if value},
        )


def _is_item(data: bytes, name: str) -> bool:
    tail = data[-8192:] if len(data) < 2**20 else data
    return f"id: {name}".encode() in tail or b"\ntype_: " in tail


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """The text of an item, and its fields, which are the lines after the last empty one."""
    body, gap, last = text.rstrip("\n").rpartition("\n\n")
    if not gap:
        body, last = "", text
    matches = (_FIELD.fullmatch(line) for line in last.split("\n"))
    return body, {match[1]: match[2] for match in matches if match}


@lru_cache(maxsize=4)
def _lists(folder: str) -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    """Id of a notebook → its path of names, and id of a note → its tags, in one export."""
    names: dict[str, tuple[str, str]] = {}
    tagged: dict[str, list[str]] = {}
    for number, path in enumerate(Path(folder).iterdir()):
        if number > _MAX_ITEMS or not _ITEM.fullmatch(path.name):
            continue
        start = head(path, 16_384)
        if any(f"type_: {kind}".encode() in start[-200:] for kind in (2, 5, 6)):
            body, said = _parts(charsets.decoded(start).replace("\r\n", "\n"))
            if said.get("type_") == "6":
                tagged.setdefault(said.get("note_id", ""), []).append(said.get("tag_id", ""))
            else:
                names[path.stem] = body.strip(), said.get("parent_id", "")
    notebooks = {}
    for each in names:
        at, path_of = each, list[str]()
        while at in names and len(path_of) < 50:
            name, at = names[at]
            path_of.append(name)
        notebooks[each] = " / ".join(path_of[::-1])
    return notebooks, {
        note: sorted(names[tag][0] for tag in tags if tag in names) for note, tags in tagged.items()
    }
