"""What says that one way was chosen: the agent's words, the person's, answers to questions. Pure.

All expressions take linear time.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.evidence import INTENT, SENTENCE, statement

_CHOOSES = pattern(
    r"\b(?:(?:we|i)(?:'ve| have)? (?:decided|chose|opted|settled)|(?:decided|opted|opting) "
    r"(?:to|for|against)|settl(?:ed|ing) on|(?:we|i)(?:'ll| will|'re|'m|'d| would)? (?:go"
    r"|going) with"
    r"|(?:we|i|let's|let us)(?:'ll| will|'re|'m)? (?:stick|sticking|stay|staying) (?:with|to|on)\b"
    r"|the decision (?:is|was)|^(?:the |my |our |final )?decision ?[-–—:] ?(?=\w)"
    r"|(?:out of|beyond the) scope|not something (?:i|we) should"
    r"|should do the same|different approach ?[-–—:] ?\w+"
    r"|(?:rul(?:ed|ing)|ruled it) out\b|in favou?r of\b"
    r"|(?:chose|choosing|pick(?:ed|ing)?|prefer(?:red|ring)?|opt(?:ed|ing)? for|select(?:ed|ing)?"
    r"|went (?:for|with)|going (?:for|with))\b.{1,160}\bover\b"
    r"|^no [\w-]+.{0,60}[;,:] .{1,80}\b(?:enough|sufficient|suffices?|instead)"
    r"|\b(?:stays?|remains?)\b.{0,60}\b(?:because|since)|\bwas considered\b"
    r"|\bwe (?:fail|keep|use|store|take|accept|skip|leave|drop|reject|allow)\b.{1,120}"
    r"(?:\b(?:because|since|so that)|[:;] .{1,120}\b(?:less|more|better|worse|simpler"
    r"|cheaper) than)"
    r"|\bi(?:'d| would)? prefer \w+ing\b.{1,120} to \w+ing"
    r"|\bwent (?:for|with)\b.{1,160}\b(?:because|since|so that|as it|as they)"
    r"|^(?!which\b|what\b|that's\b|there\b|here\b).{2,60}\bit is(?=[,.;:!]| (?:then|as|since"
    r"|because)\b)"
    r"|(?:use[sd]?|using|keep|keeping|choos(?:e|ing)|chose|prefer(?:s|red)?|pick(?:ed|ing)?"
    r"|switch(?:ed|ing)?|go)\b.{1,160}\b(?:instead of|rather than|over using))\b",
    re.IGNORECASE,
)
_CHOOSES_FIRST = pattern(
    rf"^(?:instead of|rather than) .{{1,160}}, (?:{INTENT}|we|i)\b", re.IGNORECASE
)
_CHOOSES_BY_INTENT = pattern(
    rf"\b{INTENT} .{{1,200}}\b(?:instead|rather than|without \w+ing|to avoid|no longer needed"
    r"|so (?:that|both|it|we|they|all) |following the same|following the existing)"
    rf"|\bno longer need|\b(?:since|because) .{{3,200}}, {INTENT} "
    rf"|\bfor now,? {INTENT} .{{0,20}}\b(?:skip|ignor|leav|keep|us|disabl)",
    re.IGNORECASE,
)
_CAUSE = pattern(
    r"\b(?:doesn't|does not|don't|can't|cannot|won't|will fail|isn't|is not|aren't|wasn't"
    r"|there(?:'s| is) no|the (?:issue|problem|blocker) (?:is|was)|already|no \w+ module)\b",
    re.IGNORECASE,
)
_REMEDY = pattern(
    r"\b(?:(?:i'll|i will|we'll|we will) (?:completely |also |just )?(?:add|put|keep|store|make)"
    rf"|{INTENT} (?:completely |also |just )?(?:use|reuse|rewrite|replace it|replace them|switch"
    r"|restructure|go with|adopt|stick|drop))\b",
    re.IGNORECASE,
)
_PROPOSES = pattern(
    r"\b(?:could|might|may) (?:be|also|instead)\b|\bcan wait\b|\?\s*$", re.IGNORECASE
)
"""A sentence that only weighs a way, or asks about it."""

_LONGEST_DECISION: Final = 1500


def decision_in(text: str) -> tuple[str, str]:
    """The sentence of ``text`` that chooses one way, and its paragraph; empty if none does.

    A sentence chooses by its words ("we chose … instead of …"), or it says what will be done after
    a sentence that says what is in the way.
    """
    for paragraph in text[:20_000].split("\n\n"):
        before = ""
        for sentence in _sentences(paragraph):
            said = sentence[:600]
            if not _PROPOSES.search(said[-200:]) and (
                _CHOOSES.search(said)
                or _CHOOSES_FIRST.search(said)
                or _CHOOSES_BY_INTENT.search(said)
                or (_REMEDY.search(said) and _CAUSE.search(f"{before} {said}"))
            ):
                return statement(said), paragraph.strip()[:_LONGEST_DECISION]
            before = said
    return "", ""


_LABEL = pattern(r"^[\W_]{0,4}(?:the |my |our |final )?decision[\W_]{0,4}$", re.IGNORECASE)


def _sentences(paragraph: str) -> list[str]:
    """The sentences; "Decision:" belongs to the one after it."""
    found: list[str] = []
    for sentence in SENTENCE.split(paragraph):
        if found and _LABEL.match(found[-1][:60]):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return found


_PERSON_CHOOSES = pattern(
    r"\b(?:the decision|we(?:'ve| have)? decided|from now on|(?:use|take|keep|prefer|make it|do) "
    r".{1,160}\b(?:instead of|rather than|not)\b"
    r"|(?:let's|let us|we(?:'ll| will)?|i(?:'ll| will)?|please) "
    r"(?:go (?:for|with)|stick (?:with|to)|stay (?:with|on)|opt for|settle on)"
    r"|(?:let's|let us) (?!see|look|try|start|continue|go|move|do|check|run|commit|push|talk|wait"
    r"|test"
    r"|get|have|think|fix|add|begin|finish|find|focus|say)\w+ .{2,}"
    r"|we (?:drop|keep|use|store|only use|always use|never use|don't use|do not use))\b"
    r"|^(?:(?:right|ok(?:ay)?|yes|no|so|then|agreed|fine)\b[,. ]*){1,4}no (?!need|problem|idea)\w+",
    re.IGNORECASE,
)
_ASKS = pattern(
    r"\b(?:which (?:one|of|would|do|should|way|option|approach)|do you prefer|would you (?:like"
    r"|prefer|rather)"
    r"|(?:should|shall) (?:we|i) .{1,200}\bor\b|what do you (?:think|prefer)|your (?:call|choice"
    r"|preference)"
    r"|(?:my|the|i'd) recommend(?:ation)?|i(?:'d| would)? (?:recommend|suggest)|option [a-d1-4]\b"
    r"|\b(?:two|three|four|several|some) (?:options|ways|approaches|choices|alternatives))\b",
    re.IGNORECASE,
)
_NOT_AN_ANSWER = pattern(
    r"[?]|^(?:why|how|what|when|where|who|which|can|could|do|does|did|is|are|show|explain|tell"
    r"|compare"
    r"|wait|stop|hold on|thanks?|commit|push|run|hello|hi)\b",
    re.IGNORECASE,
)
_SHORT_ANSWER: Final = 300
_SHORT_PROMPT: Final = 1000
_ASKED: Final = 600


def decision_of_person(prompt: str, asked: str) -> tuple[str, str]:
    """What the person chose with ``prompt``, and with what it answers; empty if it chooses nothing.

    ``asked`` is what the agent said last. A short prompt that answers a choice of ways is a
    decision, if the agent had not made one itself; other words count when they choose by
    themselves. A long prompt is a task, and its words describe.
    """
    prompt = prompt.strip()
    if not prompt or len(prompt) > _SHORT_PROMPT:
        return "", ""
    end = asked[-_ASKED:]
    if (
        len(prompt) <= _SHORT_ANSWER
        and len(prompt.split()) > 1
        and not _NOT_AN_ANSWER.search(prompt)
        and _ASKS.search(end)
        and not decision_in(end)[0]
    ):
        last = end.strip().rpartition("\n\n")[2]
        return statement(prompt.partition("\n")[0]), f"{last}\n\n{prompt}"
    for sentence in _sentences(prompt):
        if not sentence.rstrip().endswith("?") and _PERSON_CHOOSES.search(sentence[:400]):
            return statement(sentence), prompt
    return "", ""


_ANSWERED = pattern(r'"([^"\n]{1,400})"="([^"\n]{0,400})"')


def answers_in(result: str) -> str:
    """The person's answers to the agent's questions, one a line; empty if it has none."""
    return "\n".join(f"{asked} {said}" for asked, said in _ANSWERED.findall(result[:20_000]))
