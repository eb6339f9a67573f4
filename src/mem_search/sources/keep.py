"""The source `keep`: notes of Google Keep from a Takeout, a JSON file for each.

The Takeout has each note as HTML, too, which is not read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import fields, items, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text.json_reading import loads

NAME: Final = "keep"

_MAX_BYTES: Final = 20 * 2**20
_MARKS: Final = (b'"isTrashed"', b'"userEditedTimestampUsec"')


class Keep(WholeFiles):
    """The source id is the name of the file, which Keep makes of the title or the time."""

    name = NAME
    file_format = FileFormat((".json",))

    def recognises(self, path: Path) -> bool:
        suffix = path.suffix.lower()
        if suffix == ".html" and path.parent.name == "Keep":
            return self.recognises(path.with_suffix(".json"))
        return suffix == ".json" and all(mark in head(path, 262_144) for mark in _MARKS)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        if file.path.suffix.lower() == ".html":
            yield LedgerEntry(file.name, "left", "its JSON file beside it has the same note")
            return
        note = fields(loads(read_regular_file(file.path, _MAX_BYTES).decode("utf-8", "replace")))
        if note.get("isTrashed"):
            yield LedgerEntry(file.name, "left", "the note is in Keep's trash")
            return
        title, links = text(note.get("title")), []
        lines = [text(note.get("textContent"))]
        for entry in map(fields, items(note.get("listContent"))):
            mark = "x" if entry.get("isChecked") else " "
            lines.append(f"- [{mark}] {text(entry.get('text'))}")
        for link in map(fields, items(note.get("annotations"))):
            said = (text(link.get(name)) for name in ("title", "description", "url"))
            links.append("\n".join(filter(None, said)))
        files = [text(fields(each).get("filePath")) for each in items(note.get("attachments"))]
        body = "\n\n".join(filter(None, ("\n".join(filter(None, lines)), *links)))
        if not body and not title:
            yield LedgerEntry(file.name, "left", "the note has no text")
            return
        metadata: dict[str, Any] = {"folder": "Keep", "archived": bool(note.get("isArchived"))}
        metadata |= {"files": files} if files else {}
        yield Draft(
            kind="note",
            source=NAME,
            source_id=Path(file.name).stem,
            text=body,
            title=title,
            created_at=_ms(note.get("createdTimestampUsec") or note.get("userEditedTimestampUsec")),
            updated_at=_ms(note.get("userEditedTimestampUsec")),
            tags=tuple(filter(None, (
                text(fields(label).get("name")) for label in items(note.get("labels"))
            ))),
            metadata=metadata,
        )  # fmt: skip


def _ms(value: object) -> int | None:
    return value // 1000 if isinstance(value, int) and value > 0 else None
