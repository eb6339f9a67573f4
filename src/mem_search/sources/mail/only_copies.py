"""Quotes and signatures whose words stand nowhere else in their thread, as far as it was read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from mem_search.sources.mail.bodies import take_apart
from mem_search.sources.mail.message import MAX_TEXT_CHARS, Mail

MAX_CHARS: Final = 5_000
"""Characters of quotes of one message that are searched: a long thread is quoted in each answer."""

_MAX_LINES: Final = 1_000_000
"""Lines of messages that one reading remembers, by 4 bytes of each: 40 MB."""


class OnlyCopies:
    """Remembers the lines of the messages of a reading, thread by thread."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def find(self, mail: Mail) -> None:
        """Set ``only_copy`` of ``mail``: what it quotes and signs that none before it said."""
        thread = next(iter([*mail.references, *mail.in_reply_to, mail.message_id]), "")
        reply = take_apart(mail.text[:MAX_TEXT_CHARS])
        for _ in self._new(thread, reply.own):
            pass
        lines = self._new(thread, f"{reply.quoted}\n{reply.signature}")
        mail.only_copy = "\n".join(lines)[:MAX_CHARS]
        for inside in mail.messages:
            self.find(inside)

    def _new(self, thread: str, text: str) -> Iterator[str]:
        for line in text.split("\n"):
            said = " ".join(line.lstrip("> ").split())
            key = zlib.crc32(f"{thread}\0{said}".encode("utf-8", "replace"))
            if said and said != "--" and key not in self._seen:
                if len(self._seen) < _MAX_LINES:
                    self._seen.add(key)
                yield said
