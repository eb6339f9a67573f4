"""The source `signal`: chats that signal-export wrote: `data.json` with a message a line, else
`chat.md`. A day of a chat becomes one record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import Said, by_day, fields, items, json_lines, moment, text
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text import charsets

NAME: Final = "signal"

_MAX_BYTES: Final = 200 * 2**20
_LINE: Final = pattern(
    r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?)\] ([^:\n]{1,100}): ", re.MULTILINE
)
_MARKS: Final = (b'"date"', b'"sender"', b'"body"', b'"reactions"')


class Signal(WholeFiles):
    """The chat is named as its folder. Times are those of the machine that exported it."""

    name = NAME
    file_format = FileFormat((".json", ".md"))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() == ".json":
            return all(mark in head(path, 16_384).partition(b"\n")[0] for mark in _MARKS)
        if path.name not in ("chat.md", "index.md"):
            return False
        return bool(_LINE.match(charsets.decoded(head(path, 1024)).lstrip()))

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        chat = Path(file.name).stem if file.is_upload else file.path.parent.name
        if file.path.suffix.lower() == ".json":
            yield from by_day(NAME, chat, _of_lines(file))
            yield from file.unread.entries(file.name)
        elif not file.is_upload and self.recognises(file.path.with_name("data.json")):
            yield LedgerEntry(file.name, "left", "data.json beside it has the same messages")
        else:
            content = charsets.decoded(read_regular_file(file.path, _MAX_BYTES))
            yield from by_day(NAME, chat, _of_markdown(content.replace("\r\n", "\n")))


def _of_lines(file: WholeFile) -> Iterator[Said]:
    for message in json_lines(file):
        names = [text(fields(part).get("name")) for part in items(message.get("attachments"))]
        body = [text(message.get("quote")), text(message.get("body")).strip()]
        words = [*body, *(f"({name})" for name in names if name)]
        at = moment(text(message.get("date")))
        yield Said(text(message.get("sender")) or "unknown", "\n".join(filter(None, words)), at)


def _of_markdown(content: str) -> Iterator[Said]:
    marks = list(_LINE.finditer(content))
    ends = [*(mark.start() for mark in marks[1:]), len(content)]
    for mark, end in zip(marks, ends, strict=True):
        yield Said(mark[2], content[mark.end() : end].strip(), moment(mark[1]))
