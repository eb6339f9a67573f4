"""What says that one way was chosen: the agent's words, the person's, answers to questions. Pure.

A sentence decides by evidence of different strength: words that choose by themselves; a way that is
kept to beside one that is not taken, or with its reason; something that is done without. Sentences
that only weigh, ask, or tell what once was do not. All expressions take linear time.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work import tools
from mem_search.sources.agent_work.evidence import INTENT, statement
from mem_search.sources.agent_work.text import HEADLINE, any_of, headline, worded
from mem_search.text.shortening import cut, one_line

_CHOSEN = any_of("chosen", "over_another")
_KEEPS_TO = any_of("keeps_to")
_COMPARED = any_of("compared")
_REASON = any_of("reason")
_WEIGHS = any_of("weighs")
_LABELLED = worded(r"^(?:the |my |our |final )?<decision> ?[-–—:] ?(?=\w)")
_WITHOUT = worded(
    r"^(?:(?:so|therefore|hence|deshalb|daher|darum|donc|du coup|por eso|así que|quindi|dus),?"
    r" <without> \w"
    r"(?![^.,;:]{0,60}\b<is_there>\b)|(?:<therefore>,? )?(?:<without>(?: |(?<=['’]))"
    r"(?!<not_a_thing>\b)"
    r"(?![^.,;:]{0,60}\b<is_there>\b)[\w`'\"-]+.{0,80}?"
    r"(?:[:;–—] ?.{2}|\b<as>\b|\b(?:here|for this|for now|hier|ici|aquí|qui|aqui), .{6})"
    r")|so no \w+ing\b|no \w+ing (?:here|on our side|for now)\b)",
)
"""Something that is done without, with its reason."""
_IT_IS = pattern(
    r"^(?!(?:which|what|that's|there|here)\b).{2,60}"
    r"\bit is(?=[,.;:!]|$| (?:then|as|since|because)\b)",
    re.IGNORECASE,
)
_REASON_FIRST = worded(r"^(?:<as_first>)\b.{5,300}, ")
_ENOUGH = worded(r"\b<enough>\b|\b(?:goes|stays)(?=[.,;!]|$)")
_GOES_ON = pattern(
    r"[;:–—] ?.{6}|, (?!and\b|then\b|but also\b|und\b|y\b|et\b|e\b|which\b|where\b).{12}"
)
"""After what is kept to, another part of the sentence, which says why."""
_REJECTS = worded(
    r"^(?:an?|another|one|any|ein\w?|une?|una|otra|\w+ing) .{1,80}\b"
    r"(?:would|würde|wäre|serait|sería|finirait)\b"
    r"(?! (?:also |then )?(?:be (?:nice|good|great|possible|the|a|an|better|enough|helpful)"
    r"|help|work|do)\b)"
)
"""What another way would cost: the sentence before chose this one."""
_CHOOSES_FIRST = pattern(
    rf"^(?:(?:instead of|rather than) .{{1,160}}, (?:{INTENT}|we|i)\b"
    r"|(?:instead of|rather than) .{1,80} (?:i|we) \w"
    r"|(?:statt|anstatt|anstelle|au lieu d|plutôt qu|en lugar de|en vez de|invece di|em vez de)\w*"
    r" .{2,160}[,;] ?\w)",
    re.IGNORECASE,
)
_DONE = pattern(
    r"\b(?:pass(?:es|ed)?|green|tests?|done|finished|fixed|committed|pushed|updated|grün|verde|verts?"
    r"|fertig|erledigt|hecho|listo|fait|terminé)\b",
    re.IGNORECASE,
)
"""Tells what was done, and not why so."""
_WITHOUT_ANY = pattern(
    r"\b(?:no|not|don['’]t|without|instead|rather|kein\w*|nicht|ohne|pas|sans|sin"
    r"|niente|sem)\b",
    re.IGNORECASE,
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
_MAX_DECISION_CHARS: Final = 1500
_SENTENCE = worded(r"(?<=[.!?])\s+|\n+")
_LABEL = worded(r"^[\W_]{0,4}(?:the |my |our |final )?decision[\W_]{0,4}$")
_MARKUP = worded(r"^(?:[#>*+•\s-]|\d{1,2}[.)]\s){0,9}|\*\*|__")


def decision_in(text: str) -> tuple[str, str]:
    """The sentence of ``text`` that chooses one way, and its paragraph; empty if none does."""
    if len(text) > 20_000:  # without the paragraph at the end, which may have half a secret
        text = text[:20_000].rpartition("\n\n")[0]
    for paragraph in text.split("\n\n"):
        before = ""
        for sentence in _sentences(paragraph):
            said = _MARKUP.sub("", cut(sentence, 600)).strip()
            if _decides(said, before):
                return statement(said), cut(paragraph.strip(), _MAX_DECISION_CHARS)
            if _REJECTS.search(said) and before and not _only_weighs(before):
                return statement(before), cut(paragraph.strip(), _MAX_DECISION_CHARS)
            before = said
    return "", ""


def _only_weighs(said: str) -> bool:
    return bool(_WEIGHS.search(said) or _OFFERS.search(said))


def _decides(said: str, before: str) -> bool:
    """Whether the sentence ``said`` chooses a way; ``before`` is the one before it."""
    if _LABELLED.search(said):
        return True
    if _WEIGHS.search(said):
        return False
    if _CHOSEN.search(said) or _CHOOSES_FIRST.search(said) or _CHOOSES_BY_INTENT.search(said):
        return True
    if _WITHOUT.search(said) or _IT_IS.search(said):
        return True
    kept = _KEEPS_TO.search(said)
    if kept and (_COMPARED.search(said) or _REASON.search(said)):
        return True
    if kept and _GOES_ON.search(said, kept.end()) and not _DONE.search(said):
        return True
    if _ENOUGH.search(said) and _WITHOUT_ANY.search(said):
        return True
    if _REASON_FIRST.search(said) and _ENOUGH.search(said):
        return True
    return bool(_REMEDY.search(said) and _CAUSE.search(f"{before} {said}"))


def _sentences(paragraph: str) -> list[str]:
    """The sentences; a line "Decision" belongs to the one after it."""
    sentences: list[str] = []
    for sentence in _SENTENCE.split(paragraph):
        if sentences and _LABEL.match(sentences[-1][:60]):
            sentences[-1] = f"{sentences[-1].strip('*_# :')}: {sentence}"
        else:
            sentences.append(sentence)
    return sentences


_PERSON_FIRST = worded(
    r"^(?:\W*(?:<preface>\b[\s,.!:;…—–-]*){0,5}<person_first>"
    r"|\W*(?:(?:hm+|ok(?:ay)?|yeah)\W+)?<takes_back>\b[\s,.!:;…—–-]+"
    r"(?:(?:hm+|please|bitte)\W+)?<corrects>"
    r"|\W*<yes_but>|\W*<agreed>\b(?:\W+| (?:on|with|about) ).{3})",
)
_PERSON_CHOOSES = any_of("person")
_OFFERS = any_of("offers")
_NOT_AN_ANSWER = worded(
    r"[?]|^<asks>\b|\b<puts_off>|^\W*(?:<goes_on>\b\W*){1,6}$",
)
_SHORT_ANSWER: Final = 300
_SHORT_PROMPT: Final = 1000
_ASKED: Final = 1000
_ANSWER: Final = 1000


def decision_of_person(prompt: str, question: str) -> tuple[str, str]:
    """What the person chose with ``prompt``, and with what it answers; empty if it chooses nothing.

    ``question`` is what the agent said last. A short prompt that answers a choice of ways is a
    decision, if the agent had not made one itself; other words count when they choose by
    themselves. A long prompt is a task, and its words describe.
    """
    prompt = prompt.strip()
    if not prompt or len(prompt) > _SHORT_PROMPT:
        return "", ""
    end = question[-_ASKED:]
    if (
        len(prompt) <= _SHORT_ANSWER
        and (len(prompt.split()) > 1 or prompt.strip(".!").lower() in end.lower())
        and not _NOT_AN_ANSWER.search(prompt)
        and _OFFERS.search(end)
        and not decision_in(end)[0]
    ):
        last = end.strip().rpartition("\n\n")[2]
        return statement(prompt.partition("\n")[0]), f"{last}\n\n{prompt}"
    for sentence in _sentences(prompt):
        said = cut(sentence, 400)
        if sentence.rstrip().endswith("?"):
            continue
        if _PERSON_FIRST.search(said) or _PERSON_CHOOSES.search(said):
            return statement(sentence), prompt
    return "", ""


_ANSWERED = pattern(r'"([^"\n]{1,400})"="([^"\n]{0,400})"')


def choice_of_person(call: tools.Call, answer: str) -> tuple[str, str]:
    """What a person chose by the ``answer`` to a call, and with what: a plan that was approved, or
    questions that were answered.
    """
    if call.effect == tools.PLANS:
        title, said = headline(call.target), f"{call.verb}:\n{call.target}"
    else:
        said = answers_in(answer) or one_line(answer, _ANSWER)
        title = said.rpartition("\n")[2]
    return one_line(title, HEADLINE), said


def answers_in(result: str) -> str:
    """The person's answers to the agent's questions, one a line; empty if it has none."""
    return "\n".join(f"{asked} {said}" for asked, said in _ANSWERED.findall(result[:20_000]))
