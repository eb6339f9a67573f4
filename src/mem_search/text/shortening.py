"""Texts that are cut: titles, summaries, lines of a log, messages of errors.

A secret at the cut would no longer be known by what is left of it, so what is longer than allowed
is redacted before it is cut.
"""

from __future__ import annotations

from typing import Final

from mem_search.patterns import pattern
from mem_search.text.redaction import MARKER, redact

_MAX_BEHIND_CHARS: Final = 4_000
"""Characters behind the cut that are read as well: they tell whether a secret stands at it."""
_MAX_WORD_CHARS: Final = 16_000
_WORD_END: Final = pattern(rf"[!-~]{{0,{_MAX_WORD_CHARS}}}+")
_READ_FOR_A_LINE: Final = 8
"""Times the length of a line; blanks become one, so more than its length is read."""


def beginning(text: str, limit: int) -> str:
    """``text`` without secrets, and at least its first ``limit`` characters, if it has so many."""
    if len(text) > limit + _MAX_BEHIND_CHARS:
        end = _WORD_END.match(text, limit + _MAX_BEHIND_CHARS)
        text = text[: end.end()] if end else text
    return redact(text)[0]


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters; cut after a paragraph, line or word in the second half.

    What is cut has no secrets any more; what is short enough stays as it is.
    """
    if len(text) <= limit:
        return text
    text = beginning(text, limit)
    if len(text) <= limit:
        return text
    head = text[:limit]
    marker = text.rfind(MARKER, 0, limit + len(MARKER) - 1)
    if marker > 0 and "]" not in head[marker:]:
        head = head[:marker].rstrip()
    for mark in ("\n\n", "\n", " "):
        if (end := head.rfind(mark)) > limit // 2:
            return head[:end].rstrip()
    return head


def one_line(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters; an ellipsis marks what was cut."""
    # A heredoc can be megabytes long: only its beginning can be part of the result.
    if len(text) > limit:
        text = beginning(text, _READ_FOR_A_LINE * limit)
    line = " ".join(text.split())
    return line if len(line) <= limit else cut(line, limit - 1).rstrip(" ,;:") + "…"
