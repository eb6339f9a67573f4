"""Moments that a question names by what happened: ``before the 0.20 release``, ``since we moved to
Postgres``. When that was, only the store knows (``search.related_records``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.patterns import pattern
from mem_search.text.question_times import QUOTED

Bound = Literal["before", "after"]

MAX_CHARS: Final = 200
"""Characters of a question that is read; a longer one tells a story."""

_VERSION: Final = r"v?\d{1,4}(?:\.\d{1,4}){1,3}(?:-?(?:a|b|rc|alpha|beta)\.?\d+)?"
_BEFORE: Final = "before|until|till|up to|prior to|vor|bis|avant|antes de"
_AFTER: Final = "after|since|following|nach|seit|après|depuis|desde|después de"
_THING: Final = "release|version|tag|veröffentlichung|sortie|versión"
_MOVED: Final = (
    r"(?:we|i) (?:have |had )?(?:moved|switched|migrated|changed|went|upgraded|ported)(?:"
    r" over)? (?:to|from)"
    r"|(?:we|i) (?:have |had )?(?:adopted|introduced|dropped|started (?:to use|using|with)"
    r"|stopped using)"
    r"|(?:the )?(?:move|switch|migration|upgrade|change) (?:to|from)"
)
_RELEASE: Final = pattern(
    rf"(?<![\w.-])(?P<bound>{_BEFORE}|{_AFTER}) (?:the |der |dem |la |le )?(?:(?:{_THING})"
    rf" (?:of )?)?"
    rf"(?P<version>{_VERSION})(?: (?:{_THING}))?(?: (?:was|came|went|is) (?:released|out"
    rf"|published|tagged))?"
    r"(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_EVENT: Final = pattern(
    rf"(?<![\w.-])(?P<bound>{_BEFORE}|{_AFTER}) (?:{_MOVED}) (?P<what>[\w@./'+-]+(?:"
    rf" [A-Z][\w.+-]*)*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """``phrase`` at ``start:end`` bounds a time by the release ``version``, or by the move to, or
    from, ``what``.
    """

    phrase: str
    start: int
    end: int
    bound: Bound
    version: str = ""
    what: str = ""


def find(text: str) -> Moment | None:
    """The first such moment of ``text``; mostly None."""
    if len(text) > MAX_CHARS or "\n" in text or QUOTED.search(text):
        return None
    for form in (_RELEASE, _EVENT):
        if match := form.search(text):
            said = match.groupdict()
            is_before = re.fullmatch(_BEFORE, match["bound"], re.IGNORECASE) is not None
            bound: Bound = "before" if is_before else "after"
            start, end = match.span()
            return Moment(
                match[0], start, end, bound, said.get("version") or "", said.get("what") or ""
            )
    return None
