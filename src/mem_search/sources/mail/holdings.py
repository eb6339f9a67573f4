"""Which messages a mail location has, in its cursor: so that a deleted file takes its message along
unless another place has the same message.

A message is named by its id and its content (``drafts.held_as``): another message that uses the
same id is not the same message.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.text.redaction import MARKER

MARK: Final = 12
"""Characters of a mark: 48 bits, so a hundred thousand names are told apart."""

_MAILDIR: Final = ""
"""The name under which the messages of all Maildir folders are kept."""


def mark_of(*said: str) -> str:
    """A short digest of ``said``."""
    data = "\0".join(said).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=MARK // 2).hexdigest()


class Holdings:
    """The messages of a location: by file for files with one message, which take it along when
    they are deleted, and as marks for mailboxes, whose messages stay stored.

    In a cursor, ``held`` has file → its messages on one line each, ``boxes_have`` mailbox → marks
    one after the other, and ``loose`` what was let go of and not yet released.
    """

    def __init__(self, cursor: Mapping[str, Any]) -> None:
        held: Mapping[str, str] = cursor.get("held", {})
        # A name with a secret in it is stored as another name, so its file cannot be found again.
        self._files = {
            name: tuple(said.split("\n")) for name, said in held.items() if MARKER not in name
        }
        self._count = Counter(each for ids in self._files.values() for each in ids)
        self._boxes: dict[str, list[str]] = {
            name: [marks] for name, marks in cursor.get("boxes_have", {}).items()
        }
        self._loose = dict.fromkeys(filter(None, str(cursor.get("loose", "")).split("\n")))

    def files(self) -> Collection[str]:
        """The files that have a message."""
        return self._files.keys()

    def set_file(self, name: str, ids: Iterable[str]) -> None:
        """The file has the messages ``ids`` now, and what it had before is loose."""
        before = self._files.pop(name, ())
        self._count.subtract(before)
        if now := tuple(dict.fromkeys(each for each in ids if "\n" not in each)):
            self._files[name] = now
            self._count.update(now)
        self._loose |= dict.fromkeys(before)

    def add_to_box(self, ids: Iterable[str], name: str = _MAILDIR) -> None:
        """A mailbox has the messages ``ids``, too."""
        if marks := "".join(map(mark_of, ids)):
            self._boxes.setdefault(name, []).append(marks)

    def empty_box(self, name: str) -> None:
        """The mailbox is read from its start, or gone."""
        self._boxes.pop(name, None)

    def keep_boxes(self, names: Collection[str]) -> None:
        """Other mailboxes are gone; Maildir folders stay."""
        self._boxes = {
            name: marks for name, marks in self._boxes.items() if name in names or name == _MAILDIR
        }

    def having(self, ids: Collection[str]) -> set[str]:
        """Those of ``ids`` that a file or a mailbox has."""
        held = {each for each in ids if self._count[each] > 0}
        asked = {mark_of(each): each for each in ids if each not in held}
        if asked:
            held.update(asked[mark] for mark in self._marks() if mark in asked)
        return held

    def release(self) -> tuple[str, ...]:
        """What nothing here has any more, once."""
        loose, self._loose = self._loose, {}
        kept = self.having(loose)
        return tuple(each for each in loose if each not in kept)

    def stored(self) -> dict[str, Any]:
        """What the cursor keeps."""
        said: dict[str, Any] = {
            "held": {name: "\n".join(ids) for name, ids in self._files.items()},
            "boxes_have": {name: "".join(marks) for name, marks in self._boxes.items()},
        }
        return {**said, "loose": "\n".join(self._loose)} if self._loose else said

    def _marks(self) -> Iterator[str]:
        for parts in self._boxes.values():
            for marks in parts:
                yield from (marks[at : at + MARK] for at in range(0, len(marks), MARK))
