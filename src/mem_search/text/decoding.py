"""Views of a text that is written otherwise, with the way back to the text itself.

A secret may be written as ``%41KIA…``, ``&#x41;KIA…``, ``\\u0041KIA…`` or in two lines. It is found
in a view and replaced in the text, so nothing else of the text changes.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mem_search.patterns import pattern

_HEX: Final = "[2-7][0-9A-Fa-f]"
# Each begins with a set or a letter, so that the search can jump to it.
_ESCAPE: Final = (
    rf"[%&\\](?:(?<=%)(?P<percent>{_HEX})|(?<=&)(?P<entity>#?\w{{2,8}}+;)"
    # Several backslashes: in a string in a string. Any letter: "пароль" is a name of a secret, too.
    rf"|(?<=\\)\\{{0,7}}(?:u(?P<unicode>[0-9A-Fa-f]{{4}})|x(?P<byte>{_HEX})))"
)
_ESCAPES: Final = pattern(_ESCAPE)
_QUOTED_PRINTABLE: Final = pattern(rf"{_ESCAPE}|=(?P<quoted>{_HEX})|=\r?\n")
_QUOTED: Final = ("=3D", "=\n", "=\r\n")
_FOLD: Final = r"[ \t]{0,8}+(?=[\w+/=.~-])"
_LINE_FOLDS: Final = pattern(rf"\n(?<=[\w+/=.~-]\n){_FOLD}")
_FOLDS: Final = pattern(rf"(?<=[\w+/=.~-])\\?\r?\n{_FOLD}")
_MIN_SECRET_CHARS: Final = 20
_LOOKED_AT: Final = 64
_SCRAMBLED: Final = pattern("[0-9]|[a-z][A-Z]")
_MAX_LAYERS: Final = 3
"""``%2541`` is an escape in an escape."""


@dataclass(frozen=True, slots=True)
class View:
    """``text``, where ``starts[i]`` of it is ``places[i]`` of the text before, and so on alike.

    ``ends`` has, for each character that was made of others, the place where those end. ``before``
    is the view that this one was made from, if it was not the original text.
    """

    text: str
    starts: list[int]
    places: list[int]
    ends: dict[int, int]
    before: View | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that ``text[start:end]`` was read from."""
        first, last = self._place(start), self._place(end - 1)
        after = self.ends.get(end - 1, last + 1)
        return self.before.span(first, after) if self.before else (first, after)

    def _place(self, at: int) -> int:
        i = bisect_right(self.starts, at) - 1
        return self.places[i] + at - self.starts[i]


def without_escapes(text: str) -> View | None:
    """``text`` with its ASCII escapes decoded, also those in escapes; None when it has none."""
    view = None
    for _ in range(_MAX_LAYERS):
        current = view.text if view else text
        pattern = _QUOTED_PRINTABLE if any(map(current.__contains__, _QUOTED)) else _ESCAPES
        decoded = replaced(current, pattern, _character, view)
        if decoded is None:
            break
        view = decoded
    return view


def without_folds(text: str) -> View | None:
    """``text`` with the line breaks between two parts of a word removed; None without any."""
    plain = "\r\n" not in text and "\\\n" not in text
    return replaced(text, _LINE_FOLDS if plain else _FOLDS, _fold)


def _character(match: re.Match[str]) -> str:
    if entity := match["entity"]:
        character = html.unescape(f"&{entity}")
        return character if len(character) == 1 and character.isascii() else match[0]
    digits = match[match.lastgroup] if match.lastgroup else ""
    return chr(int(digits, 16)) if digits else ""


def _fold(match: re.Match[str]) -> str:
    """Nothing between two parts of what may be a secret; between words, what is there."""
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - _LOOKED_AT) : start].rsplit(None, 1)[-1]
    after = text[end : end + _LOOKED_AT].split(None, 1)[0]
    may_be = len(before) + len(after) >= _MIN_SECRET_CHARS and _SCRAMBLED.search(before + after)
    return "" if may_be else match[0]


def replaced(
    text: str,
    pattern: re.Pattern[str],
    character: Callable[[re.Match[str]], str],
    before: View | None = None,
) -> View | None:
    """``text`` with ``character`` of each match in its place; None where that changes nothing."""
    pieces: list[str] = []
    starts, places, ends = [0], [0], {}
    length = last = 0
    for match in pattern.finditer(text):
        made = character(match)
        if made == match[0]:
            continue
        pieces += text[last : match.start()], made
        length += match.start() - last
        for _ in made:
            starts.append(length)
            places.append(match.start())
            ends[length] = match.end()
            length += 1
        starts.append(length)
        places.append(match.end())
        last = match.end()
    if not pieces:
        return None
    return View("".join((*pieces, text[last:])), starts, places, ends, before)
