"""What a text says behind the usual disguises: invisible letters, look-alikes, spacing, base64.

Each disguise that a text has gives another reading of it, in lower case and without accents. All of
it is linear in the length of the text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import unquote

from mem_search.patterns import pattern
from mem_search.text.control_characters import CLASS

_HIDDEN: Final = pattern(f"[{CLASS}\u00ad\ufeff]")
_BLANKS: Final = pattern(r"[^\S\n]+")
_BREAK: Final = pattern(r"(?<=[\w,;])\n(?=[ \t]*[a-z])")
_TAGS: Final = pattern("[\U000e0020-\U000e007e]{4,}")
_MARKS: Final = pattern(r"[\u0300-\u036f]")

# Letters of Cyrillic and Greek that look like Latin ones.
_ALIKE: Final = str.maketrans("аеорсхуіјѕһԁвкмнтαεορτυνικχ", "aeopcxyijshdbkmhtaeoptuvikx")
_MIXED: Final = pattern(r"[a-z][а-яіјѕα-ω]|[а-яіјѕα-ω][a-z]")
_MIN_MIXED: Final = 3
"""Places in one text where scripts meet inside a word: ``μm`` and ``Ωm`` are units."""

_DIGITS: Final = str.maketrans("013457@$", "oieastas")
_WITH_DIGITS: Final = pattern(r"[a-z][01345]+[a-z]|(?<![\w])[1345][a-z][a-z0-9]{3}")
_JOINED: Final = pattern(r"[a-z]_[a-z]+_[a-z]")
_SPACED: Final = pattern(
    r"(?<![^\W_])[^\W\d_](?:[ \t.*_·|/~+-]{1,4}[^\W\d_](?![^\W_])){7,}"  # at least eight letters
)
_BETWEEN_WORDS: Final = pattern(r"[ \t.*_·|/~+-]{2,}")
_NO_LETTER: Final = pattern(r"[^\w]|_")

_BACKWARDS: Final = pattern("erongi|snoitcurtsni|tpmorp|drowssap|dragersid|tegrof")
_ROT13: Final = pattern("vtaber|vafgehpgvbaf|flfgrz cebzcg|cnffjbeq|qvfertneq|sbetrg")
"""Words of orders to agents, read backwards and by ROT13: no language has them."""
_MIN_REFERENCES: Final = 8
"""Numbers of characters as HTML writes them; words of ASCII written so are hidden."""

_PERCENT: Final = pattern(r"(?:[a-zA-Z]{2,20}%20){3}")
"""Words of an address, with blanks as percent signs."""
_HEX: Final = pattern(r"(?:[2-7][0-9a-fA-F]){12,2048}")
_BASE64: Final = pattern(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,4096}={0,2}(?![\w+/=])")
_MAX_ENCODED: Final = 200
"""Words of a text that are decoded: a text with more is data."""
_MIN_LETTERS: Final = 0.8
"""Share of letters and blanks in what somebody wrote; other data decodes to noise."""


def readings(text: str) -> Iterator[str]:
    """``text`` as it can be read, the plain reading first."""
    written = unicodedata.normalize("NFKC", text).replace("\r", "")
    plain = folded(written)
    yield plain
    for run in _TAGS.finditer(text):
        yield folded("".join(chr(ord(letter) - 0xE0000) for letter in run[0]))
    if len(list(islice(_MIXED.finditer(plain), _MIN_MIXED))) == _MIN_MIXED:
        yield plain.translate(_ALIKE)
    if _WITH_DIGITS.search(plain):
        yield plain.translate(_DIGITS)
    if _JOINED.search(plain):
        yield plain.replace("_", " ")
    for run in _SPACED.finditer(_HIDDEN.sub("", written)):
        said = (_NO_LETTER.sub("", word) for word in _BETWEEN_WORDS.split(run[0]))
        yield folded(" ".join(filter(None, said)))
    if _BACKWARDS.search(plain):
        yield plain[::-1]
        yield " ".join(word[::-1] for word in plain.split())
    if _ROT13.search(plain):
        yield codecs.decode(plain, "rot13")
    if text.count("&#") >= _MIN_REFERENCES:
        yield folded(unescape(text))
    if _PERCENT.search(text):
        yield folded(unquote(text))
    for word in islice(_BASE64.finditer(text), _MAX_ENCODED):
        decoded = _decoded(word[0])
        again = _BASE64.fullmatch(decoded)
        if decoded := _decoded(again[0]) if again else decoded:
            yield folded(decoded)


def folded(text: str) -> str:
    """``text`` in lower case, without accents and what is invisible; in one line."""
    plain = _BREAK.sub(" ", _HIDDEN.sub("", text))
    plain = _BLANKS.sub(" ", plain).lower().replace("\u2019", "'")
    return _MARKS.sub("", unicodedata.normalize("NFKD", plain))


def _decoded(word: str) -> str:
    """What somebody wrote in base64 or as hexadecimal numbers; "" for anything else."""
    if _HEX.fullmatch(word):
        return _said(bytes.fromhex(word).decode("ascii", "replace"))
    bare = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        said = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
    return said if _BASE64.fullmatch(said) else _said(said)


def _said(said: str) -> str:
    letters = sum(letter.isalpha() or letter.isspace() for letter in said)
    return said if letters >= _MIN_LETTERS * len(said) else ""


def compiled(form: str) -> re.Pattern[str]:
    """A pattern for what ``readings`` gives, written with accents."""
    return re.compile(_MARKS.sub("", unicodedata.normalize("NFKD", form)))
