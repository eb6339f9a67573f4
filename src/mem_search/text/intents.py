"""Words of intent in a question: ``what did we decide about redis`` asks about redis.

``decide``, ``fix``, ``tell me`` say what sort of record is meant, or nothing at all; as words they
find records that happen to say ``decided``. They are read where somebody asks for what was done or
said: with ``we``, ``I`` or ``you``, in the passive, or in a request. Words of failure (``what
failed this week``, ``the test that broke``) mean steps of work that failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.plain_facts import NamedField
from mem_search.text.question_times import EMPTY, QUOTED
from mem_search.text.words import STOP_WORDS

MAX_CHARS: Final = 200
"""Characters of a question that is read; a longer one tells a story."""

FAILED: Final = "failed:true"
"""What words of failure ask for."""

DECIDED: Final = "type:decision,note"
"""What ``decided`` points to: people write decisions down as notes as well."""

_MEANT: Final[Mapping[str, str]] = {
    DECIDED: "decide decided deciding choose chose chosen pick picked agree agreed settle settled"
    " decision decisions entschieden entscheiden entschied beschlossen gewählt ausgewählt"
    " vereinbart"
    " entscheidung entscheidungen décidé décider choisi convenu décision décisions"
    " decidido decidimos elegido elegimos escogimos acordamos decisión decisiones",
    "type:bugfix": "fix fixed repair repaired solve solved behoben repariert gefixt gelöst corrigé"
    " réparé résolu arreglamos arreglado corregimos corregido resolvimos",
    "type:refactor": "refactor refactored restructure restructured umgebaut",
    "type:discovery": "learn learned learnt discover discovered gelernt entdeckt appris découvert"
    " aprendimos aprendido descubrimos",
    "kind:email": "mail mailed email emailed mailen gemailt",
}  # fmt: skip
_TYPE_OF: Final = {word: field for field, said in _MEANT.items() for word in said.split()}

_SAYING: Final = frozenset(
    "say said says tell told talk talked talking discuss discussed mention mentioned"
    " remember recall"
    " remind know knows knew use used using think thought show write wrote written"
    " gesagt gesprochen besprochen diskutiert erzählt geschrieben weiß weisst weißt wissen erinnere"
    " erinnerst benutzen verwenden nutzen geredet"
    " dit parlé discuté écrit sais savons savez utilise utilisons utilisez rappelle"
    " dijimos hablamos sabes sabemos usamos recuerda recuerdas discutimos dicho hablado".split()
)
_BESIDE: Final = frozenset(
    "about again also any anything can could ever everything give had let like made make me"
    " need now"
    " please so some something there want was were would yet you"
    " bitte noch mal über zu wegen doch haben wir hat habe man was"
    " au sujet pour propos moi nous avons ai avez"
    " sobre favor hemos me acerca".split()
)
"""Words beside those of intent that ask for nothing either."""

_SUBJECTS: Final = frozenset("we i you wir ich du ihr man nous je tu vous nosotros yo".split())
_TOLD: Final = frozenset("me us mir uns moi nos".split())
_SELF: Final = frozenset(
    "decidimos elegimos escogimos acordamos arreglamos corregimos resolvimos aprendimos descubrimos"
    " dijimos hablamos usamos sabemos discutimos".split()
)
"""Verbs that say ``we`` by themselves."""

_PASSIVE: Final = frozenset("was were been is are wurde wurden worden été fue fueron".split())
_REQUESTS: Final = frozenset("tell show remind please remember recall give dime recuerda".split())
_NOUNS: Final = frozenset(
    "decision decisions entscheidung entscheidungen décision décisions decisión decisiones".split()
)
_AFTER_NOUN: Final = frozenset(
    "on about to for was were made of that zu über für dass sur de que sobre para".split()
)
_NEAR: Final = 5
"""Words between the subject and its verb."""

_VERB: Final = (
    r"failed|fails?|failing|broke|broken|breaks?|crashed|crashes|timed out|went wrong|goes wrong"
    r"|(?:was|were|got) rejected|fehlgeschlagen|schief ?gegangen|schief ?gelaufen|gescheitert"
    r"|abgestürzt|kaputt ?gegangen|(?:a |ont )?échoué|(?:a )?planté|(?:a )?cassé"
    r"|falló|fallaron|(?:ha )?fallado|se rompió|salió mal|(?:è )?fallito"
)
_PAST: Final = _VERB.replace("|fails?", "").replace("|breaks?", "").replace("|crashes", "")
_NOUN: Final = (
    r"errors?|failures?|exceptions?|fehler|fehlschläge|erreurs?|échecs?|errores|fallos?|errori"
    r"|errore"
)
_TOPIC: Final = (
    r"(?:\s|-)(?:handl\w+|messages?|pages?|codes?|logs?|types?|views?|class(?:es)?|boundar\w+|text"
    r"|report\w*|count\w*|login\w*|meldung\w*|seiten?|correction)\b"
)
"""Behind an error these make it a topic: the layout of the error pages."""

_WORK: Final = (
    r"tests?|builds?|checks?|commands?|push(?:es)?|commits?|runs?|jobs?|deploys?|steps?|type check"
    r"|load test|publish|migration|pipeline|tests|befehle?|commande|comando"
)
_FRAMES: Final = tuple(
    pattern(form, re.IGNORECASE)
    for form in (
        rf"\bwhat(?:'s| has| have| had| else| all)* (?:{_PAST})\b",
        rf"\b(?:which|what|welche[rs]?|quel(?:le)?s?|qué) (?:[\w'-]+ ){{1,3}}(?:{_PAST})\b",
        rf"\bthe (?:[\w'-]+ ){{1,3}}(?:that|which) (?:has |have |just )?(?:{_PAST})\b",
        r"\bwhy did (?:[\w@/.'-]+ ){1,8}(?:fail|break|crash|time out)\b",
        rf"\b(?:was (?:ist|ging|hat|war)|qu'est-ce qui|ce qui|lo que|qué|che cosa) (?:\w+"
        rf" ){{0,2}}(?:{_PAST})",
        rf"\b(?:{_NOUN})\s(?:that |which )?(?:i|we|you) (?:just |have )?(?:saw|seen|got|had"
        rf"|hit|met|ran into)\b",
        rf"\b(?:last|latest|recent|newest|letzte[rn]?|dernière?|último) (?:{_NOUN})\b(?!{_TOPIC})",
        r"\b(?:failures|fehlschläge|échecs|fallos) (?:of|in|on|von|der|de|en)\b",
        rf"\b(?:failed|failing) (?:[\w-]+ )?(?:{_WORK})\b",
    )
)  # fmt: skip
_ANY: Final = pattern(
    rf"(?<!\w)(?:{_VERB}|{_NOUN})(?!\w)(?!{_TOPIC})", re.IGNORECASE
)  # with a time beside it
MAX_TOPIC: Final = 3
"""Words beside those of failure, up to which only steps of work that failed are meant."""

_EMPTY_BESIDE: Final = EMPTY | frozenset(
    "saw seen got had hit met ran into last latest recent newest just l d el la le les los"
    " las der die"
    " das ist sind est that which again von vom de del den dem".split()
)
_LETTERS: Final = pattern(r"[^\W_]+")
MARK: Final = "|".join([*map(re.escape, sorted({*_TYPE_OF, *_SAYING, *_REQUESTS})), _VERB, _NOUN])
"""Without one of these a text has no words of intent."""


@dataclass(frozen=True, slots=True)
class Intent:
    """``named`` are the types, the kind or the failure that are meant; the words of ``light`` say
    only that, and nothing of the topic.
    """

    named: tuple[NamedField, ...] = ()
    light: frozenset[str] = frozenset()

    @property
    def fails(self) -> bool:
        """Whether it is a failure that is asked for."""
        return any(each.field == FAILED for each in self.named)


NO_INTENT: Final = Intent()


def find(text: str, *, has_time: bool) -> Intent:
    """The words of intent in ``text``; ``has_time``: the question names a time beside it."""
    if len(text) > MAX_CHARS or "\n" in text or QUOTED.search(text):
        return NO_INTENT
    if failure := _failure(text, has_time=has_time):
        said = frozenset(word.lower() for word in _LETTERS.findall(text))
        light = frozenset() if failure.phrase.lower().startswith("why") else said & _FAILING
        return Intent((failure,), light)
    words = [match[0].lower() for match in _LETTERS.finditer(text)]
    meant = [at for at, word in enumerate(words) if _is_asked(words, at)]
    if not meant:
        return NO_INTENT
    light = frozenset(
        word for word in words if word in _SAYING or word in _BESIDE or word in _REQUESTS
    ) | {words[at] for at in meant}
    if not {*words} - light - EMPTY:  # they are all that is asked
        return NO_INTENT
    fields = dict.fromkeys(_TYPE_OF[words[at]] for at in meant if words[at] in _TYPE_OF)
    places = {match[0].lower(): match for match in _LETTERS.finditer(text)}
    named = tuple(
        NamedField(places[word][0], *places[word].span(), field, "intent", False)
        for field in fields
        for word in (next(words[at] for at in meant if _TYPE_OF.get(words[at]) == field),)
    )
    return Intent(named, light)


def _is_asked(words: list[str], at: int) -> bool:
    """Whether the word at ``at`` is one of intent where it stands."""
    word, before = words[at], words[max(0, at - _NEAR) : at]
    if word in _NOUNS:
        return words[at - 1 : at] != ["s"] and not _AFTER_NOUN.isdisjoint(words[at + 1 : at + 2])
    if word not in _TYPE_OF and word not in _SAYING and word not in _REQUESTS:
        return False
    if word in _SELF or not _SUBJECTS.isdisjoint(before):
        return True
    if word in _REQUESTS and (at == 0 or words[at - 1] in _BESIDE):
        return word in ("please", "remember") or not _TOLD.isdisjoint(words[at + 1 : at + 2])
    is_decided = _TYPE_OF.get(word) == DECIDED and word.endswith(("ed", "en", "é", "do"))
    return is_decided and not _PASSIVE.isdisjoint(before[-2:])


_FAILING: Final = frozenset(
    "failed fail fails failing broke broken break breaks went wrong goes error errors"
    " failure failures exception exceptions fehler fehlgeschlagen schiefgegangen schief"
    " gegangen erreur erreurs échoué échec échecs errores falló fallaron fallo fallos".split()
)


def _failure(text: str, *, has_time: bool) -> NamedField | None:
    """The failure that ``text`` asks for; the whole text where it asks for nothing else."""
    match = next((frame for form in _FRAMES if (frame := form.search(text))), None)
    if match is None and has_time:
        match = _ANY.search(text)
    if match is None:
        return None
    words = {each.lower() for each in _LETTERS.findall(text)}
    topic = words - _EMPTY_BESIDE - _FAILING - STOP_WORDS
    start, end = match.span()
    if not topic:
        return NamedField(text, 0, len(text), FAILED, "intent", True)
    # Its words rank, all but those of failure: nothing is cut out of the text.
    sure = len(topic) <= MAX_TOPIC and not match[0].lower().startswith("why")
    return NamedField(text[start:end], end, end, FAILED, "intent", sure)
