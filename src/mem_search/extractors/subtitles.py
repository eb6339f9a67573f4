"""Subtitles and transcripts (``.srt``, ``.vtt``): what is said, without the times of each line.

A heading every few minutes has the time, so that a passage tells where it is in the film.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.text import decoded
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern

_STEP: Final = 120
"""Seconds between two headings: some 300 spoken words, about a passage."""

_PAUSE: Final = 4.0
"""Seconds of silence after which a paragraph begins."""

_TIME: Final = r"(?:(\d{1,3}):)?(\d\d):(\d\d)[.,](\d{1,3})"
_CUE: Final = pattern(rf"^[ \t]*{_TIME}[ \t]+-->[ \t]+{_TIME}[^\n]*$", re.MULTILINE)
_IN_HEAD: Final = pattern(rb"\d\d[.,]\d{1,3}[ \t]+-->[ \t]+(?:\d|:)")
_VOICE: Final = pattern(r"<v(?:\.[\w.-]{1,50})?[ ]([^<>]{1,100})>")
_TAG: Final = pattern(r"</?[a-zA-Z\d][^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_ENDS: Final = (".", "!", "?", "…", "。", "？", "！")


class Subtitles:
    """Reads cues in their order; what a rolling caption repeats stands once."""

    name = "subtitles"
    suffixes = (".srt", ".vtt")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if suffix not in self.suffixes and not head.startswith((b"WEBVTT", b"\xef\xbb\xbfWEBVTT")):
            return False
        return suffix in self.suffixes or bool(_IN_HEAD.search(head))

    def extract(self, path: Path, name: str) -> Extracted:
        text = decoded(path.read_bytes())
        cues = list(_cues(text))
        if not cues:
            raise Unreadable("it is damaged or cut off: there are no times in it")
        stated = text.count("-->")
        lost = stated - len(cues)
        unread = (f"{lost} of {stated} cues have times that cannot be read",) if lost else ()
        seconds = round(cues[-1][1])
        return Extracted("\n\n".join(_blocks(cues)), metadata={"seconds": seconds}, unread=unread)


def _cues(text: str) -> Iterator[tuple[float, float, str]]:
    marks = list(_CUE.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        words = text[mark.end() : following.start() if following else len(text)]
        # The words end with an empty line; what follows is the number of the next cue, or a note.
        words = re.split(r"\n[ \t]*\n", words.lstrip("\n"), maxsplit=1)[0]
        words = _TAG.sub("", _VOICE.sub(r"\1: ", words))
        start, end = _seconds(*mark.groups()[:4]), _seconds(*mark.groups()[4:])
        yield start, end, unescape(words)


def _seconds(hours: str | None, minutes: str, seconds: str, parts: str) -> float:
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + int(parts.ljust(3, "0")) / 1000


def _blocks(cues: list[tuple[float, float, str]]) -> Iterator[str]:
    """Headings with times, and paragraphs between them."""
    lines: list[str] = []
    last, next_heading, ended = "", 0.0, 0.0
    for start, end, words in cues:
        if lines and (start >= next_heading or start - ended > _PAUSE):
            yield " ".join(lines)
            lines = []
        if start >= next_heading:
            at = int(start)
            yield f"## {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
            next_heading = start + _STEP
        for line in filter(None, (line.strip() for line in words.split("\n"))):
            if line != last:
                lines.append(line)
                last = line
        if lines and len(lines) > 8 and lines[-1].endswith(_ENDS):
            yield " ".join(lines)
            lines = []
        ended = end
    if lines:
        yield " ".join(lines)
