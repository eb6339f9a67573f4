"""Questions in two steps: ``the fix after the redirect loop``, ``what answered Mira's mail``.

Such a question names a relation, and the record from which it leads. The words of that record are
those of the question; the answer may have none of them. Others name a moment by what happened:
``before the 0.20 release``, ``since we moved to Postgres``. ``search.related_records`` has both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.patterns import pattern
from mem_search.text.question_times import QUOTED

Step = Literal[
    "answer", "fix", "cause", "revert", "successor", "next", "previous", "session", "citing",
    "cited", "part", "whole", "blocker", "file", "any",
]  # fmt: skip
"""What leads from the record that is named to the one that is asked for."""

MAX_CHARS: Final = 160
"""Characters of a question that is read; a longer one tells a story."""


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """``phrase`` names the relation ``step`` from the record that ``anchor`` describes."""

    step: Step
    phrase: str
    anchor: str
    more: str = ""
    """What else is said of the answer: a file."""


_MAIL: Final = (
    r"(?:e-?mail|mail|message|letter|invitation|question|note|nachricht|courriel|correo|brief)"
)
_THE: Final = r"(?:the|a|an|my|our|that|this|der|die|das|dem|den|la|le|les|el|los|las|l')"
_ABOUT: Final = r"(?:about|on|to|over|concerning|über|zu|zum|zur|sur|sobre|de)"
_FORMS: Final[tuple[tuple[Step, str], ...]] = (
    ("answer", rf"(?:{_THE} )?(?:mail|e-?mail|message|letter|reply|answer)s? (?:that |which )?"
               r"(?:answer(?:ed|s)|replied to|repl(?:y|ies) to) (?P<anchor>.+)"),
    ("answer", rf"(?:{_THE} )?(?:reply|replies|answers?|response) (?:to|on) (?P<anchor>.+)"),
    ("answer", r"(?:what|how) did (?:[\w.'-]+ ){1,3}(?:answer|reply|respond)(?: to)?"
               r" (?P<anchor>.+)"),
    ("answer", r"did (?:[\w.'-]+ ){1,3}(?:answer|reply|respond)(?: to (?P<anchor>.+))"),
    ("answer", rf"(?:{_THE} )?antwort(?:en)? (?:auf|an) (?P<anchor>.+)"),
    ("answer", rf"(?:{_THE}\s?)?réponses? (?:à|au|aux|sur) (?P<anchor>.+)"),
    ("answer", rf"(?:{_THE} )?respuestas? (?:a|al|sobre) (?P<anchor>.+)"),
    ("fix", r"(?:(?:the|which|what) )?(?:next )?(?:fix|bugfix|correction|repair)(?: commit)?s?"
            r" (?:(?:that )?(?:came |went )?(?:right )?after|that followed|following)"
            r" (?P<anchor>.+)"),
    ("fix", r"what was (?:fixed|repaired|corrected) (?:right )?after (?P<anchor>.+)"),
    ("fix", r"(?:what|which (?:commit|change)) (?:fixed|solved|repaired|resolved) (?P<anchor>.+)"),
    ("cause", r"(?:what|which (?:commit|change)) (?:broke|caused|introduced) (?P<anchor>.+)"),
    ("revert", r"(?:what|which commit|who) reverted (?P<anchor>.+)"),
    ("revert", r"(?:the )?revert of (?P<anchor>.+)"),
    ("successor", r"(?:what|which (?:\w+)) (?:replaced|superseded|replaces|supersedes)"
                  r" (?P<anchor>.+)"),
    ("session", r"what else (?:happened|was done|did we do) in the (?:same )?session"
                r" (?:where|when|in which|that|of) (?P<anchor>.+)"),
    ("session", r"(?:the )?same session as (?P<anchor>.+)"),
    ("file", r"(?:other|further|later|more) (?:changes|commits|work) (?:to|in|on)"
             r" (?P<more>\S+\.\w{1,5})"
             r" (?:after|since|besides?) (?P<anchor>.+)"),
    ("next", r"(?:the |which )?(?:next )?(?:commit|change|step) (?:right |just )?(?:after"
             r"|that followed|following)"
             r" (?P<anchor>.+)"),
    ("next", r"what (?:happened|came|was done|did we do|was changed|followed) (?:right "
             r"|just |next )?"
             r"after (?P<anchor>.+)"),
    ("previous", r"(?:the |which )?(?:last )?(?:commit|change|step) (?:right |just )?before"
                 r" (?P<anchor>.+)"),
    ("previous", r"what (?:happened|came|was done|did we do|was changed) (?:right |just )?before"
                 r" (?P<anchor>.+)"),
    ("citing", r"(?:what|which (?:\w+)) cites? (?P<anchor>.+)"),
    ("cited", r"what (?:does|do|did) (?P<anchor>.+?) cite"),
    ("part", r"(?:(?:the|which|what) )?(?:sub-?)?(?:tasks?|children|parts?|issues)"
             r" (?:of|under|in|are part of|belong to) (?P<anchor>.+)"),
    ("part", r"what (?:belongs to|is part of) (?P<anchor>.+)"),
    ("whole", r"(?:the )?(?:parent|epic) of (?P<anchor>.+)"),
    ("whole", r"which (?:epic|issue|project) (?:does|do) (?P<anchor>.+?) (?:belong|are"
              r" part)(?: to| of)?"),
    ("blocker", r"what (?:blocks|is blocking) (?P<anchor>.+)"),
    ("blocker", r"what (?:does|do) (?P<anchor>.+?) (?:depend on|wait for)"),
    ("any", r"(?:what is |everything )?related to (?P<anchor>.+)"),
)  # fmt: skip
_COMPILED: Final = tuple(
    (step, pattern(rf"\s*{form}\s*[?.!]?\s*", re.IGNORECASE)) for step, form in _FORMS
)
_LEADING: Final = pattern(
    rf"(?:{_THE}\s|[dl]'\s?)?(?:(?:[\w.-]+(?:'s|s')\s)?{_MAIL}\s(?:{_ABOUT}\s)?|(?:epic|task|commit|issue|decision"
    r"|report|plan)\s(?:about\s|on\s|for\s)?)?(?:the\s|die\s|der\s|das\s|le\s|la\s|el\s|les\s|los\s)?",
    re.IGNORECASE,
)
_TRAILING: Final = pattern(r"(?:\s(?:task|epic|issue|commit))?\s*$", re.IGNORECASE)
MARK: Final = pattern(
    r"\b(?:after|before|answer\w*|repl\w+|respon\w+|antwort\w*|réponse\w*|respuesta\w*|fixed|solved"
    r"|resolved|repaired|follow\w*|broke|caused|introduced|revert\w*|replace[ds]|supersede[ds]|session"
    r"|cites?|tasks?|subtasks?|children|parts?|part|issues|belongs?|parent|epic|block\w*|depend|wait"
    r"|related)\b",
    re.IGNORECASE,
)
"""Without one of these a question is none in two steps."""


def find(text: str) -> RelatedQuestion | None:
    """The relation that the whole of ``text`` asks for; mostly None."""
    if len(text) > MAX_CHARS or "\n" in text or not MARK.search(text):
        return None
    for step, form in _COMPILED:
        match = form.fullmatch(text)
        if match is None:
            continue
        said = match["anchor"].strip(" \"'“”?.!")
        anchor = _TRAILING.sub("", said[_end_of_leading(said) :])
        more = match.groupdict().get("more") or ""
        phrase = text[: match.start("anchor")].strip() or text
        return RelatedQuestion(step, phrase, anchor or said, more)
    return None


def _end_of_leading(said: str) -> int:
    match = _LEADING.match(said)
    return match.end() if match and match.end() < len(said) else 0


Bound = Literal["before", "after"]

MAX_MOMENT_CHARS: Final = 200
"""The same of one that names a moment."""

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


def find_moment(text: str) -> Moment | None:
    """The first moment that ``text`` names by what happened; mostly None."""
    if len(text) > MAX_MOMENT_CHARS or "\n" in text or QUOTED.search(text):
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
