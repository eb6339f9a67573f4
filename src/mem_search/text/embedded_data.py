"""Pictures and other files that stand in a text as base64: nobody reads them there, or finds them.

A pasted picture would be a hundred thousand words. Its place says what it was; the bytes stay in
the file that the text comes from. All expressions take linear time.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.patterns import pattern

_MIN_URI_CHARS: Final = 256
"""Of the data of a URI: a shorter one is an icon of a few dots, or an example."""
_MIN_RUN_CHARS: Final = 1000
"""Of base64 without a URI: no word, path or key is as long."""
_SAMPLE: Final = 2000

# RFC 2397. Base64 may go on over several lines, and be escaped as in JSON or in a URL; other data
# ends at the next blank or quote.
_URI: Final = pattern(
    r"data:([\w.+-]+\\?/[\w.+-]+)?(?:;(?!base64,)[\w.=+-]+)*+(?:"
    r";base64,([A-Za-z0-9+/_%\\-]{16,}+={0,2}(?:\r?\n[A-Za-z0-9+/]{40,}+={0,2})*+"
    r"(?:\r?\n[A-Za-z0-9+/]++={0,2}$)?+)"
    r"|,([A-Za-z0-9+/_=%\\.~!*'&:@?$-]{16,}+))",
    re.IGNORECASE | re.MULTILINE,
)
_RUN: Final = pattern(
    rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_MIN_RUN_CHARS},}}+={{0,2}}"
    r"|^(?:[ \t]{0,8}[A-Za-z0-9+/]{40,}+\r?\n){9,}+[ \t]{0,8}[A-Za-z0-9+/]*+={0,2}",
    re.MULTILINE,
)
_BEGINNINGS: Final = {
    "iVBORw0KGg": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp",
    "PHN2Zy": "image/svg+xml", "JVBERi0": "application/pdf",
}  # fmt: skip
"""How the base64 of these types begins."""


def without_data(text: str) -> str:
    """``text`` with ``[picture image/png, 400 kB]`` for a picture, ``[data …]`` for other files."""
    if len(text) < _MIN_URI_CHARS:
        return text
    if "data:" in text or "DATA:" in text:
        text = _URI.sub(_of_uri, text)
    if len(text) < _MIN_RUN_CHARS or "-----BEGIN" in text:  # a key, which is redacted
        return text
    return _RUN.sub(_of_run, text)


def _of_uri(match: re.Match[str]) -> str:
    data = match[2] or match[3]
    return _named(match[1] or "text/plain", data) if len(data) >= _MIN_URI_CHARS else match[0]


def _of_run(match: re.Match[str]) -> str:
    run = match[0]
    if not _is_base64(run):
        return run
    first = run.lstrip()
    types = (kind for start, kind in _BEGINNINGS.items() if first.startswith(start))
    end = "\n" if run.endswith("\n") else ""
    return _named(next(types, "base64"), run) + end


def _is_base64(run: str) -> bool:
    """Whether all kinds of its signs occur as often as in bytes, and not as in names or numbers."""
    sample = run[:_SAMPLE]
    for least, of_kind in ((0.1, str.isupper), (0.1, str.islower), (0.03, str.isdigit)):
        if sum(map(of_kind, sample)) < least * len(sample):
            return False
    return True


def _named(kind: str, data: str) -> str:
    kind = kind.lower().replace("\\", "")  # a slash in JSON may be escaped
    size = len(data) * 3 // 4
    shown = f"{size // 1000} kB" if size >= 1000 else f"{size} bytes"
    return f"[{'picture' if kind.startswith('image/') else 'data'} {kind}, {shown}]"


_MARKER: Final = pattern(r"\[(?:redacted|picture|data)[^\]]{0,200}\]?")
_PLAIN_RUN: Final = pattern(r"(?<!\w)(?:[^\W\d_]{1,24}|\d{1,6})(?!\w)")


def plain_words(text: str) -> str:
    """The plain words and short numbers of ``text``: a kept copy has them, too, when secrets and
    pictures are taken out of it.
    """
    return " ".join(_PLAIN_RUN.findall(_MARKER.sub(" ", text)))


def begins_alike(one: str, other: str) -> bool:
    """Whether one of two texts is how the other one began, before it grew."""
    has_marker = _MARKER.search(one) or _MARKER.search(other)
    texts = [plain_words(each) if has_marker else " ".join(each.split()) for each in (one, other)]
    short, long = sorted(texts, key=len)
    return long.startswith(short)
