"""What the last words of an agent leave open: its next steps, as sentences and lists. Pure.

Agents end with ``## Next steps`` and a list, with ``Remaining:`` and a list, or with a sentence
such as ``Next: write the changelog.``. All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mem_search.patterns import pattern

_STILL: Final = pattern(
    r"\b(?:next steps?|remaining|still (?:open|to do|needs?|missing|fails?)|follow[- ]?ups?|to-?do"
    r"|not (?:yet )?(?:done|implemented|committed|fixed|started)|left to do"
    r"|(?:discovered|found) (?:&|and) filed|known (?:issues?|bugs?|limitations?))\b",
    re.IGNORECASE,
)
_NEXT_HEADING: Final = pattern(r"(?:what's )?next(?: up)?\W*", re.IGNORECASE)
_NEXT_SENTENCE: Final = pattern(r"(?:what's )?next(?: up)?[*_]{0,2}:[*_]{0,2} ", re.IGNORECASE)
_NOTHING: Final = pattern(r"\b(?:no|nothing|none|without|any)\b", re.IGNORECASE)
_NO_ITEM: Final = pattern(r"(?:none|n/a|nothing(?: \w+){0,4})\W*", re.IGNORECASE)
_SENTENCE: Final = pattern(r"(?<=[.!?])\s+")
_HEADING: Final = pattern(r"#{1,6}\s+\S|\*\*[^*\n]+\*\*:?$")
_MARKUP: Final = "#*_: \t"
_BULLET: Final = pattern(r"(?:[-*•+]|\d{1,2}[.)])\s+(?=\S)")
_DONE: Final = pattern(r"\[x\]|✅|✓|☑|~~", re.IGNORECASE)
_MIN_WORDS: Final = 4
"""Of a sentence; what is shorter names nothing."""


def left_open(text: str) -> list[str]:
    """The items and sentences of ``text`` that say what is still to do, each once."""
    return list(dict.fromkeys(_open_lines(text)))


def _open_lines(text: str) -> Iterator[str]:
    """A heading about open work, or a line that introduces it, begins a section.

    The section has the list below, or the first paragraph where a heading has no list. It ends at
    the next heading, or at a line after the list.
    """
    is_open = headed = in_list = in_paragraph = False
    for line in text.splitlines():
        said = line.strip()
        bullet = _BULLET.match(said)
        if not said:
            is_open, in_paragraph = is_open and not in_paragraph, False
        elif _HEADING.match(said):
            is_open = headed = _announces(said)
            in_list = in_paragraph = False
        elif said.endswith(":") and not bullet and (_announces(said) or not headed):
            is_open, headed, in_list = _announces(said), False, False
        elif bullet and is_open:
            in_list = True
            item = said[bullet.end() :]
            if not _DONE.match(item) and not _NO_ITEM.fullmatch(item):
                yield said
        elif is_open and in_list and line[:1].isspace():
            continue  # more words about the item above
        elif is_open and headed and not in_list and not said.endswith(":"):
            in_paragraph = True
            yield from (part for part in _SENTENCE.split(said) if not _NO_ITEM.fullmatch(part))
        else:
            is_open = is_open and said.endswith(":")
            yield from filter(_says_open, _SENTENCE.split(said))


def _announces(line: str) -> bool:
    """Whether a heading, or a line that ends with a colon, is about open work."""
    words = line.strip(_MARKUP)
    about = _STILL.search(words) or _NEXT_HEADING.fullmatch(words)
    return bool(about) and not _NOTHING.search(words)


def _says_open(sentence: str) -> bool:
    said = _STILL.search(sentence) or _NEXT_SENTENCE.match(sentence)
    is_one = len(sentence.split()) >= _MIN_WORDS
    return bool(said) and is_one and not _NOTHING.search(sentence)
