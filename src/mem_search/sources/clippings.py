"""The source `clippings`: `My Clippings.txt` of a Kindle; each highlight or remark is a note.

Its language is that of the Kindle. A bookmark without words gives no record.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text import charsets
from mem_search.text.counted import counted

NAME: Final = "clippings"

_MAX_BYTES: Final = 50 * 2**20
_END: Final = "=========="
_BOOK: Final = pattern(r"(.*?)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*")
_PLACE: Final = pattern(r"-\s*(.{1,300}?)\s*(?:\|\s*([^|]{6,120}))?")


class Clippings(WholeFiles):
    """The source id is made of the book, the place and the words: the Kindle gives none."""

    name = NAME
    file_format = FileFormat((".txt",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() != ".txt":
            return False
        lines = charsets.decoded(head(path, 16_384)).splitlines()
        return len(lines) > 4 and lines[1].startswith("- ") and _END in lines

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        text = charsets.decoded(read_regular_file(file.path, _MAX_BYTES)).replace("\r\n", "\n")
        seen: Counter[str] = Counter()
        empty = 0
        dates = _Dates()
        for number, block in enumerate(text.split(f"\n{_END}"), 1):
            lines = block.strip("\ufeff \n").split("\n")
            if lines == [""]:
                continue
            place = _PLACE.fullmatch(lines[1].strip()) if len(lines) > 1 else None
            if place is None:
                why = "it is not a clipping: a book, its place and the words were expected"
                yield LedgerEntry(f"{file.name}:{number}", "failed", why)
                continue
            words = "\n".join(lines[2:]).strip()
            if not words:
                empty += 1
                continue
            book = _BOOK.fullmatch(lines[0].strip("\ufeff "))
            title, author = (book[1], book[2] or "") if book else (lines[0].strip(), "")
            where, when = place[1], place[2] or ""
            said = "\n".join((title, where, words))
            identity = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
            seen[identity] += 1
            if seen[identity] > 1:
                continue  # the same words of the same place, sent twice
            metadata: dict[str, Any] = {"type": "highlight", "book": title, "place": where}
            yield Draft(
                kind="note",
                source=NAME,
                source_id=identity,
                text=f"{words}\n\n{title}{f', {author}' if author else ''}\n{where}",
                title=title,
                created_at=dates.ms(when),
                metadata={**metadata, "author": author} if author else metadata,
            )
        if empty:
            why = f"{counted(empty, 'bookmark')} without words"
            yield LedgerEntry(f"{file.name}:bookmarks", "left", why)


class _Dates:
    """Dates in the language of the Kindle, which the first one shows."""

    def __init__(self) -> None:
        from dateparser.date import DateDataParser

        self._parser = DateDataParser(try_previous_locales=True)

    def ms(self, written: str) -> int | None:
        """``Added on Thursday, 29 May 2014 10:00:33`` in ms since 1970."""
        words = written.replace(",", " ").split()
        # The words before the date differ by language: the first end that is a date counts.
        for start in range(min(len(words), 6)):
            rest = " ".join(words[start:])
            if not any(letter.isdigit() for letter in rest):
                break
            at = self._parser.get_date_data(rest).date_obj
            if at is not None:
                return int(at.timestamp() * 1000)
        return None
