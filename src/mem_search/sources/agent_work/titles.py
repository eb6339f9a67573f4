"""The titles of a step and of a decision: what was done to what, where, and how it went. Pure.

A sentence of the agent is a title if it names something. Narration does not ("Let me simplify",
"Check what's next."): what is left of it without words that every step has is nothing. Where no
sentence names anything, the evidence does: the files, the commit, the command that failed, and what
the person asked for. All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.evidence import (
    ANNOUNCES,
    command_name,
    explores,
    removed_files,
    sort_of_file,
    statement,
)
from mem_search.sources.agent_work.text import any_of, headline, worn_words
from mem_search.text.shortening import one_line
from mem_search.text.words import CJK, STOP_WORDS

_MAX_DECISION: Final = 160
"""Characters of a choice with its reason."""
MAX_TITLE: Final = 120
"""Characters of a title that is put together; most of its first line is seen at 80 columns."""
_MIN_SENTENCE: Final = 60
"""Characters that are left to a sentence, however long place and outcome are."""
_ENOUGH: Final = 4
"""Weight of a sentence that is taken as soon as it is read."""
_LITTLE: Final = 2
"""Weight of one that is taken where there is no better one, with its place."""
_OF_NAME: Final = 3
_MAX_READ: Final = 8000
_MAX_PLACE: Final = 45
_MAX_WANTED: Final = 60
"""Characters of what a person asked for, in the title of a step."""
_SHORT_STEM: Final = 7
"""Characters of names as ``index`` and ``auth``, which say little without their folder."""

_TOKEN: Final = pattern(r"`[^`\n]{1,80}`|\.?[^\W_][\w./:#@-]{0,80}")
_NAME: Final = pattern(
    r"`|^\.|\w[./_:#@]\w|[a-zß-ÿ][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}|[^\W\d]-\d"
)
_TICKET: Final = pattern(r"[\w-]{0,30}[.#-]\d{1,6}")
"""The name of a task in a tracker, which says little without it."""
_ORDINAL: Final = pattern(r"(?:\d+(?:st|nd|rd|th)?|task|step|[a-z])-?\d*", re.IGNORECASE)
_OUTCOME: Final = pattern(
    r"\b\d+\W+(?:\w+ )?(?:tests?|specs?|examples?|passed|failures?|doctests)\b", re.IGNORECASE
)
"""How a check went, which says nothing of what was done."""
_CJK: Final = pattern(rf"[{CJK}]")
_CJK_WORD: Final = 4
"""Characters of Chinese, Japanese or Korean for a word: nothing stands between them."""
_DOES: Final = pattern(
    r"(?:add|apply|build|change|configure|create|define|delete|extract|fix|implement|install"
    r"|instrument|integrate|make|move|refactor|register|remove|rename|replace|rewrite|split|tidy"
    r"|update|wire|wrap|write)\b",
    re.IGNORECASE,
)
"""An intention to change something, as it begins."""
_NARRATES: Final = pattern(
    r"(?:now |also )?(?:(?:claim|commit|still|waiting|here['’]?s|here (?:is|are)|i have|i['’]ve"
    r"|[\w.#-]{1,40} is (?:now )?(?:closed|committed|done|pushed|unblocked))\b"
    r"|(?:close|mark|push|sync)\b(?=.{0,200}\b(?:commit|push|continue|beads?|epic|tasks?|issues?"
    r"|tickets?|move (?:on )?to)\b))",
    re.IGNORECASE,
)
"""Says what is done about the work, and not in it."""
_LOOKS: Final = pattern(
    r"(?:check|explore|fetch|find|look|read|run|search|see|test|try|verify|wait)\b",
    re.IGNORECASE,
)
_VAGUE: Final = pattern(
    r"(?:\w+ ){0,2}(?:it|this|that|them|these|those)\b|\w.{0,40}\b(?:might|maybe|perhaps)\b",
    re.IGNORECASE,
)
_PREFACE: Final = pattern(
    r"(?:i (?:can )?see\b(?: that|\W+the (?:issue|problem)\b(?: (?:is|was)\b(?: that)?)?)?"
    r"[\s,:;—–-]*"
    r"|(?:continuing|starting) with (?:[^—–:\n]{1,60}[—–:] ?|[\w.#-]{1,40}$)"
    r"|the (?:issue|problem) is clear\b[\s,:;—–-]*|the (?:issue|problem) is that )",
    re.IGNORECASE,
)
_JOINS: Final = pattern(
    r"^(?:(?:but|and|so|then)\b,? |try(?:ing)? (?:a |an )?\w+ approach\s?[-–—:,]\s)", re.IGNORECASE
)
_HEADING: Final = pattern(r"#{1,6} \S")
_NUMBER: Final = pattern(r"^((?:#{1,6} |[-*] )?)\d{1,2}[.)] ")
_BETWEEN: Final = pattern(r"(?<=[.!?])(?<!\.\.)\s+|\n+")
"""Between two sentences; three points are within one."""
_REMOVES: Final = pattern(r"Ran: (?:git )?rm ")
_FAILED: Final = pattern(r"Failed(?: with exit code \d+)?: Ran: (.+?)( — .*|$)")
_PART: Final = pattern(r"[A-Z]?[a-z]{3,}")
_VERBS: Final = {"bugfix": "Fix", "refactor": "Tidy up", "feature": "Extend", "change": "Change"}
_CODE_FIRST: Final = ("code", "settings", "tests", "docs")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a step. ``aim`` is what the agent said before its first change, ``texts``
    all it said; ``chosen`` are sentences that are decisions, with titles of their own. ``passed``
    is a check that failed before and passes now, ``broken`` are those that fail, ``failed`` is what
    failed; ``created``: files are new; ``defined`` are names that its edits bring;
    ``commit`` is the subject of a commit, ``asked`` what the person asked for.
    """

    type: str
    aim: str
    texts: Sequence[str]
    chosen: Collection[str]
    modified: Sequence[str]
    read: Sequence[str]
    facts: Sequence[str]
    failed: Sequence[str]
    broken: Sequence[str]
    created: bool
    defined: Sequence[str]
    passed: str
    commit: str
    asked: str


def step_title(known: Evidence) -> str:
    """Verb, object and place of a step, and how it went; empty if nothing is known of it."""
    return _looked(known) if known.type == "discovery" else _changed(known)


def _changed(known: Evidence) -> str:
    said, is_plan = _said(known)
    outcome = f"; `{known.passed}` passes" if known.passed else ""
    outcome = f"; `{known.broken[0]}` fails" if known.broken else outcome
    place = _place(known.modified, said)
    if not said:
        wanted = f": {known.commit}" if known.commit else _for(known.asked)
        if known.defined and not known.commit:
            wanted = f": {one_line(', '.join(known.defined), _MIN_SENTENCE)}{wanted}"
        if not place:
            return _joined(known.commit or known.asked or next(iter(known.facts), ""), outcome)
        return _joined(f"{_verb(known)} {place}", wanted, outcome)
    if not place or _names(said, known.modified):
        return _joined(said, outcome)
    if is_plan or _DOES.match(said):
        return _joined(said, f" in {place}{outcome}")
    return _joined(f"{_verb(known)} {place}: {said}", outcome)


def _looked(known: Evidence) -> str:
    said, is_plan = _said(known)
    place = _place(known.read, said, sorts=())
    if known.commit:
        return _joined(f"Commit “{known.commit}”", *(f"; {each}" for each in _failures(known)))
    if said and place and _DOES.match(said):
        # It has looked only; what it is about to do is another step.
        return _joined(f"Read {place} to {said[:1].lower()}{said[1:]}")
    if said:
        named = not place or not is_plan or _names(said, known.read)
        return _joined(said, "" if named else f" ({place})")
    if failed := _failures(known):
        return _joined(failed[0], _for(known.asked))
    if place:
        return _joined(f"Read {place}", _for(known.asked))
    worked = [fact for fact in known.facts if not explores(fact.partition(": ")[2])]
    told = [*worked, *filter(str.strip, known.texts), *known.facts]
    fact = next(iter(told), "").partition("\n")[0]
    return _joined(statement(fact, MAX_TITLE), _for(known.asked))


def _verb(known: Evidence) -> str:
    gone = {
        path for fact in known.facts if _REMOVES.match(fact)
        for path in removed_files(fact.partition(": ")[2])
    }  # fmt: skip
    if gone.issuperset(known.modified):
        return "Remove"
    return "Add" if known.created and known.type == "feature" else _VERBS.get(known.type, "Change")


def _for(asked: str) -> str:
    return f" for “{asked}”" if asked else ""


def _failures(known: Evidence) -> list[str]:
    """`` `git push` failed: fatal: no upstream branch`` of each that failed."""
    matches = (_FAILED.match(line) for line in known.failed)
    return [f"`{command_name(each[1])}` failed{each[2]}" for each in matches if each]


def _said(known: Evidence) -> tuple[str, bool]:
    """The sentence that names enough first, else the most, as a statement; and whether it says what
    comes now. Of a change the first plan counts, else what was found.
    """
    finds = known.type in ("bugfix", "discovery")
    rest = list(_sentences(known.texts))
    aim = list(_sentences([known.aim]))
    plans = [] if finds else list(filter(ANNOUNCES.search, aim))
    sentences = rest if finds else [*plans, *aim, *rest]
    if known.type == "discovery":
        sentences = [*filter(_HEADING.match, rest), *rest]
    least = _LITTLE if known.type == "discovery" else 1  # what is changed has its place beside it
    best, best_weight, planned, planned_weight = "", least - 1, "", least - 1
    best_is_plan = False
    for place, sentence in enumerate(sentences):
        if plans and place == len(plans) and best_weight >= _LITTLE:
            break
        said = _bare(sentence)
        if any(_is_same(said, each) for each in known.chosen):
            continue
        weight, is_plan = weight_of(said), bool(ANNOUNCES.search(sentence))
        weight -= _OF_NAME * any(f"`{_name(path)}`" in said for path in known.modified)
        if known.type != "discovery" and _LOOKS.match(said):
            continue  # it did more than that
        if finds and is_plan:
            if weight > planned_weight:
                planned, planned_weight = said, weight
        elif weight > best_weight:
            best, best_weight, best_is_plan = said, weight, is_plan
        if best_weight >= _ENOUGH:
            break
    if known.commit and max(best_weight, planned_weight) < _ENOUGH - 1:
        return "", False  # the subject of the commit says more
    return (planned, True) if planned_weight > best_weight else (best, best_is_plan)


def _bare(sentence: str) -> str:
    """A sentence as a statement, without words that only lead to it."""
    said = statement(_PREFACE.sub("", statement(sentence, 2 * MAX_TITLE)), 2 * MAX_TITLE)
    return said.rstrip(".")


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    """Sentences outside of code and tables, in order."""
    is_code = False
    for line in "\n".join(texts)[:_MAX_READ].split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and line.strip()[:1] not in ("|", "", "<"):
            said = _NUMBER.sub(r"\1", line.strip())
            yield from [said] if _HEADING.match(said) else _BETWEEN.split(said)


def weight_of(sentence: str) -> int:
    """How much a sentence names: 3 for a name of code, 1 for a word that not every step has."""
    if _NARRATES.match(sentence):
        return 0
    worn = worn_words()
    weights: dict[str, int] = {}
    for token in _TOKEN.findall(sentence[:1000]):
        word = token.strip("`.:-")
        lower = word.casefold()
        if lower in STOP_WORDS or lower in worn or _ORDINAL.fullmatch(lower) or len(lower) < 2:
            continue
        weights[lower] = _OF_NAME if _NAME.search(token) and not _TICKET.fullmatch(lower) else 1
        if characters := len(_CJK.findall(token)):
            weights[lower] = 1 + characters // _CJK_WORD
    less = int(_VAGUE.match(sentence) is not None)
    less += (_ENOUGH - 1) * (_OUTCOME.search(sentence) is not None)
    return sum(weights.values()) - less


def _names(said: str, paths: Iterable[str]) -> bool:
    """Whether a sentence has the name of one of the files: ``SessionLive`` is ``session_live``."""
    letters = _letters(said)
    return any(
        name in letters
        for path in paths
        for name in [_letters(_stem(path) if len(_stem(path)) > _SHORT_STEM else _name(path))]
    )


def _is_same(said: str, chosen: str) -> bool:
    own, other = _letters(said), _letters(chosen)
    return own in other or other in own


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _stem(path: str) -> str:
    return _name(path).lstrip(".").partition(".")[0]


def _place(paths: Sequence[str], said: str, sorts: Sequence[str] = _CODE_FIRST) -> str:
    """``auth/session.py and 2 more``: the file whose name shares most words with what was ``said``,
    else the first, of code if there is one.
    """
    if not paths:
        return ""
    letters = _letters(said)

    def rank(path: str) -> tuple[int, int]:
        shared = sum(word.casefold() in letters for word in _PART.findall(_stem(path)))
        return -shared, sorts.index(sort_of_file(path)) if sorts else 0

    first = min(paths, key=rank)
    folder = re.split(r"[/\\]", first)[-2:-1]
    name = _name(first)
    if folder and folder[0] and len(_stem(first)) <= _SHORT_STEM:
        name = f"{folder[0]}/{name}"
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{one_line(name, _MAX_PLACE)}{more}"


def _joined(said: str, *after: str) -> str:
    """``said`` and what comes after it, in the length of a title; the beginning gives way last."""
    ending = "".join(after)
    room = max(_MIN_SENTENCE, MAX_TITLE - len(ending))
    return one_line(f"{one_line(said, room).rstrip('.' if ending else '')}{ending}", MAX_TITLE)


def wanted(prompt: str) -> str:
    """What a prompt asks for, in a few words; empty if it names nothing."""
    said = one_line(_BETWEEN.split(headline(prompt))[0].rstrip("."), _MAX_WANTED)
    return said if weight_of(said) > 0 else ""


_SAYS_WHY: Final = any_of("reason", "as")
_PARTED: Final = pattern(r"[;:–—] \S.{6}|—\S| - \S|\b(?:to avoid|to keep|so)\b")


def decision_title(chosen: str, because: str) -> str:
    """The choice, and its reason where it has none: the nearest sentence of ``because`` that says
    something. What a choice calls "it" is in that sentence, too.
    """
    title = _JOINS.sub("", chosen)
    title = title[:1].upper() + title[1:] if title.partition(" ")[0].isalpha() else title
    if (_SAYS_WHY.search(title) or _PARTED.search(title)) and not _VAGUE.match(title):
        return title
    sentences = [each for each in _BETWEEN.split(because) if each.strip()]
    own = _letters(chosen)
    at = next((n for n, each in enumerate(sentences) if own in _letters(each)), None)
    if at is None:
        return title
    for sentence in (*reversed(sentences[max(0, at - 2) : at]), *sentences[at + 1 : at + 2]):
        said = _bare(sentence)
        tells = not ANNOUNCES.search(sentence) or _PREFACE.match(sentence)
        if weight_of(said) >= _LITTLE and tells:
            return one_line(f"{title.rstrip('.')} — {said}", _MAX_DECISION)
    return title
