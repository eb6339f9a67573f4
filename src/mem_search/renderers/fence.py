"""The fences around stored text, and text that cannot open or close one.

A tag of a fence can be written in many ways: in any case, in full width, with letters of other
alphabets, with invisible or combining characters, blanks or line breaks between the letters, and
with escapes of HTML, URLs and JSON. So letters are compared, in a view without all that, and the
bracket before them becomes ``(``. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.decoding import without_escapes

RECALLED: Final = "recalled-memory"
"""Around what an agent gets without asking."""
OTHERS: Final = "text-of-others"
"""Around an opened text that reads like instructions."""

_NAMES: Final = (RECALLED, OTHERS, "system-reminder", "system-prompt", "hook-context")
"""Ours, and those in which agents wrap what a hook gives them."""

_LOOK_ALIKES: Final = str.maketrans(
    "аеосухтмԁсѕһнгкрлоαεορυτχμνıʟʀᴇᴄᴀᴅᴍᴏʏᴛꜱʜꓲ‹«《〈⟨⟪❮❬❰⧼ᐸ˂≺≪⦑⧏\u2329≮ᑀ∕⁄⧸╱⟋᜵",
    "aeocyxtmdcshhrkploaeopytxmviirecadmoytshi<<<<<<<<<<<<<<<<<<<//////",
)
"""Letters of the names, brackets and strokes of other alphabets (Unicode TR 39)."""

_ENTITY: Final = pattern(r"&(?:lt|#0*60|#x0*3c);?", re.IGNORECASE)
"""Of a bracket, as browsers read it: also without its end, and with any number of zeros."""
_BETWEEN: Final = pattern(r"[\W_]+")
_NAME: Final = pattern(
    "|".join(r"[\W_]*".join(name.replace("-", "")) for name in _NAMES)
)  # fmt: skip


def fenced_by(name: str, text: str) -> str:
    """``text`` between the tags of the fence ``name``, which nothing in it closes."""
    return f"<{name}>\n{without_tags(text)}\n</{name}>"


def without_tags(text: str) -> str:
    """``text`` with ``(`` in place of each bracket that begins a closing tag or one of a fence."""
    text = _ENTITY.sub("&lt;", text)
    view = without_escapes(text)
    plain = view.text if view else text
    alike = plain.translate({ord(each): _alike(each) for each in set(plain)})
    found = [
        view.span(at, at + 1) if view else (at, at + 1)
        for between in _BETWEEN.finditer(alike)
        if "<" in between[0]
        for at in _brackets(alike, between.start(), between.end())
    ]
    pieces: list[str] = []
    last = 0
    for start, end in found:
        pieces += text[last:start], "("
        last = end
    return "".join((*pieces, text[last:]))


def _alike(character: str) -> str:
    """One character that looks like this one, in lower case."""
    if character.isascii():
        return character.lower()
    plain = unicodedata.normalize("NFKD", character).translate(_LOOK_ALIKES)[:1]
    return plain.lower()[:1].translate(_LOOK_ALIKES) or character


def _brackets(alike: str, start: int, end: int) -> list[int]:
    """Where brackets begin a tag, among the signs of ``alike[start:end]`` before a word."""
    last = end if _NAME.match(alike, end) else alike.rfind("/", start, end)
    return [at for at in range(start, last) if alike[at] == "<"]
