"""Kinds, people and facts in a question: ``the PDF that Anna sent about the lease``.

Words of the language are in ``languages``, facts in ``plain_facts``. The kinds of record say which
words ask for them (``RecordKind.asked_as``, ``may_be_asked_as``). A word is read only where the
question asks for a document: at its beginning, before ``from``, ``about`` and the like, or after
``as a``. A question of how or why, and what is quoted or in code, is left alone. Whether the store
has such records is decided elsewhere (``search.plain_reading``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Protocol

from mem_search.patterns import pattern
from mem_search.text import languages, plain_facts
from mem_search.text.languages import LANGUAGES
from mem_search.text.plain_facts import DOCUMENTS, NamedField
from mem_search.text.question_times import EMPTY, QUOTED

MAX_QUESTION_CHARS: Final = 200
"""Characters of a question that is read; a longer one tells more than which document it is."""

_WORD: Final = pattern(r"(?:[dlm]|qu)['’](?=[^\W_])|[^\W_]+(?:['’.-][^\W_]+)*", re.IGNORECASE)
_LEADING: Final = languages.words("leading")
_OWN: Final = languages.words("own")
_FOLLOWING: Final = languages.words("following")
_EMPTY: Final = EMPTY | _LEADING | _OWN
_NOT_ASKING: Final = languages.words("never")
_DOING: Final = frozenset(
    "add build check convert create decode delete detect display download encode encrypt export"
    " extract fix forward generate handle import load merge parse print process read receive render"
    " reply save send split store test upload validate verify write".split()
)
"""Verbs of what is done with a file or a mail: then it is not asked for."""
_PARTICIPLES: Final = languages.words("participles")
_SENDER: Final = languages.words("senders")
_RECIPIENT: Final = languages.words("recipients")
_SENT: Final = languages.words("sent")
_INVERTED: Final = languages.words("inverted")
_SEND: Final = languages.words("send")
_AUXILIARIES: Final = languages.words("auxiliaries")
_ME: Final = languages.words("persons")
_TO_ME: Final = frozenset("me mir m' nos uns us".split())
_ASKED_WHO: Final = frozenset("did hat haben".split())
_IN_NAMES: Final = frozenset({"de", "del", "von", "du"})
_ENDS_NAME: Final = (
    (_FOLLOWING | _SENT | _SEND | _ME | languages.words("joining")) - _IN_NAMES
) | (_AUXILIARIES - {"a"})
_ARTICLES: Final = languages.words("articles")
_AS_ONE: Final = [phrase.split() for each in LANGUAGES for phrase in each.as_one]
_MAX_NAME_WORDS: Final = 4
"""Words."""

_MAX_KIND_WORDS: Final = 4
"""Words."""

_SHORT: Final = 12
"""Words of a question that may ask for a document without naming its kind."""

_WAS_SENT: Final = "has:from,sender"
"""What holds for all that somebody sent."""


class AskedKind(Protocol):
    """What is needed of a kind of record."""

    @property
    def name(self) -> str: ...

    @property
    def plural(self) -> str: ...

    @property
    def asked_as(self) -> Mapping[str, str]: ...

    @property
    def may_be_asked_as(self) -> Mapping[str, str]: ...


class Vocabulary:
    """The words that ask for kinds: word → (field, whether it can hardly mean anything else).

    ``asks`` matches a text that may ask for a document at all; most texts do not. ``listed`` has
    the words that ask for a kind where nothing but a time is with them: ``sessions from Monday``.
    """

    def __init__(self, kinds: Iterable[AskedKind]) -> None:
        kinds = list(kinds)
        self.fields: dict[str, tuple[str, bool]] = {}
        for language in LANGUAGES:
            self.fields |= {word: (at, False) for word, at in language.perhaps_kinds.items()}
            self.fields |= {word: (at, True) for word, at in language.kinds.items()}
        for kind in kinds:
            self.fields |= {word: (field, False) for word, field in kind.may_be_asked_as.items()}
        for kind in kinds:
            self.fields |= {word: (field, True) for word, field in kind.asked_as.items()}
        self.listed = {kind.plural: f"kind:{kind.name}" for kind in kinds}
        self.listed |= {word: at for word, (at, clear) in self.fields.items() if not clear}
        asking = sorted({*self.fields, *DOCUMENTS, *_SENT, "did"}, key=len, reverse=True)
        self.asks = pattern(
            rf"(?<!\w)(?:{'|'.join(map(re.escape, asking))}|{plain_facts.ASKING})(?!\w)"
            rf"|{plain_facts.MONEY}",
            re.IGNORECASE,
        )


def listed_in(text: str, known: Vocabulary) -> NamedField | None:
    """The kind that ``text`` asks for with no other word that says anything; mostly None."""
    if len(text) > MAX_QUESTION_CHARS or QUOTED.search(text):
        return None
    said = [token for token in _WORD.finditer(text) if token[0].lower() not in _EMPTY]
    field = known.listed.get(said[0][0].lower()) if len(said) == 1 else None
    return NamedField(said[0][0], *said[0].span(), field, "kind", True) if field else None


def find(text: str, known: Vocabulary) -> list[NamedField]:
    """The kinds, facts and the person that ``text`` names, in its order; none for most texts."""
    if len(text) > MAX_QUESTION_CHARS or "\n" in text:
        return []
    quoted = [match.span() for match in QUOTED.finditer(text)]
    facts = [each for each in plain_facts.find(text) if not _overlaps(each, quoted)]
    priced = [each for each in facts if each.field == plain_facts.PRICED]
    for fact in facts:  # what they say is neither a kind nor a name
        if fact.end > fact.start and fact not in priced:
            text = f"{text[: fact.start]}{',':{fact.end - fact.start}}{text[fact.end :]}"
    tokens = list(_WORD.finditer(text))
    words = [token[0].lower().replace("’", "'") for token in tokens]
    if not _NOT_ASKING.isdisjoint(words) and not priced:
        return []
    kinds = list(_kinds(text, tokens, words, known))
    kinds = [each for each in kinds if not _overlaps(each[1], quoted)]
    person = _person(text, tokens, words, kinds)
    if person is None and priced:
        after = (at for at, token in enumerate(tokens) if token.start() >= priced[0].end)
        person = _name(text, tokens, words, next(after, len(tokens)), "from")
    if person is not None and _overlaps(person, quoted):
        person = None
    mentions = [each for _, each in kinds] + ([person] if person else []) + facts
    return sorted(mentions, key=lambda each: each.start)


def _overlaps(named: NamedField, spans: list[tuple[int, int]]) -> bool:
    return any(named.start < end and start < named.end for start, end in spans)


def _kinds(
    text: str, tokens: list[re.Match[str]], words: list[str], known: Vocabulary
) -> Iterator[tuple[int, NamedField]]:
    """The words for kinds, each with the place after it."""
    at = 0
    while at < len(words):
        lengths = [
            n
            for n in range(_MAX_KIND_WORDS, 0, -1)
            if at + n <= len(words) and " ".join(words[at : at + n]) in known.fields
        ]
        after = at + (lengths[0] if lengths else 1)
        entry = known.fields.get(" ".join(words[at:after]))
        if entry is not None:
            field, clear = entry
            sure = _asks_at(text, tokens, words, at, after, known, clear=clear)
            if sure is not None:
                start, end = tokens[at].start(), tokens[after - 1].end()
                phrase = text[start:end]
                yield after, NamedField(phrase, start, end, field, "kind", sure and clear)
        at = after


def _asks_at(
    text: str,
    tokens: list[re.Match[str]],
    words: list[str],
    at: int,
    after: int,
    known: Vocabulary,
    *,
    clear: bool,
) -> bool | None:
    """Whether the word at ``at`` surely asks for a kind; None where it does not ask at all."""
    before, following = words[:at], words[after] if after < len(words) else ""
    if known.fields[" ".join(words[at:after])][0].startswith("has:"):
        return True if before else None  # "email with attachment"
    begins = _LEADING.issuperset(before)
    is_last = not following or text[tokens[after - 1].end() :].lstrip()[:1] in (",", "?", ".")
    said = following in _FOLLOWING
    own = bool(before) and not _OWN.isdisjoint(before)
    if not clear:
        # "note that", "page to": with these a verb, or no document.
        said = said and following not in ("that", "to")
        if (begins and (said or (is_last and own))) or (own and is_last):
            return False
        return None
    if before[-1:] in _AS_ONE or before[-2:] in _AS_ONE:
        return True
    if begins:
        is_more = following in DOCUMENTS or following in known.fields
        if said or is_more or is_last or following in _SENT:
            return True
        return False if words[at] in _PARTICIPLES else None  # "scanned poem about a tiger"
    if tokens[at].start() and text[: tokens[at].start()].rstrip().endswith(","):
        return True  # "the card of the cat, scanned"
    if before[-1] in _FOLLOWING or not _DOING.isdisjoint(before):
        return None  # "extract text from PDF", "send email to"
    return False if is_last or (said and following != "in") else None


def _person(
    text: str,
    tokens: list[re.Match[str]],
    words: list[str],
    kinds: list[tuple[int, NamedField]],
) -> NamedField | None:
    """The person or sender that the question names."""
    for at, word in enumerate(words):
        if word in _ASKED_WHO and (named := _name(text, tokens, words, at + 1, "from")):
            end = at + 1 + len(named.phrase.split())
            if end < len(words) and words[end] in _SEND:
                return named
            if word != "did" and not _SENT.isdisjoint(words[end:]):  # "was hat Ilse geschrieben"
                return named
        elif word in _SENT:
            if at and words[at - 1] in ("i", "we", "ich"):
                to = at + 1 + (words[at + 1 : at + 2] == ["to"])
                return _name(text, tokens, words, to, "to")
            if words[at + 1 : at + 2] and words[at + 1] in ("by", "von", "par", "por"):
                return _name(text, tokens, words, at + 2, "from")
            sender = _name_before(text, tokens, words, at)
            if sender is None and word in _INVERTED:  # "la factura que envió Tomás"
                sender = _name(text, tokens, words, at + 1, "from")
            return replace(sender, otherwise=_WAS_SENT) if sender else None
    nouns = [at + 1 for at, word in enumerate(words) if word in DOCUMENTS]
    nouns = nouns if len(words) <= _SHORT else []
    first = min([*(after for after, _ in kinds), *nouns], default=None)
    if first is None:
        return None
    is_mail = any(named.field == "kind:email" and named.sure for _, named in kinds)
    for at in range(first, len(words)):
        if words[at] in _SENDER and (person := _name(text, tokens, words, at + 1, "from")):
            return replace(person, start=tokens[at].start(), sure=is_mail)
        if is_mail and words[at] in _RECIPIENT:
            return _name(text, tokens, words, at + 1, "to")
    return None


def _name(
    text: str, tokens: list[re.Match[str]], words: list[str], at: int, field: str
) -> NamedField | None:
    """The name that begins at ``at``."""
    while at < len(words) and words[at] in _ARTICLES:
        at += 1
    end = at
    while end < min(len(words), at + _MAX_NAME_WORDS) and words[end] not in _ENDS_NAME:
        end += 1
        if text[tokens[end - 1].end() :].lstrip()[:1] in (",", "?", ":"):
            break
    while end > at and words[end - 1] in _IN_NAMES:
        end -= 1
    return _named(text, tokens, at, end, field)


def _name_before(
    text: str, tokens: list[re.Match[str]], words: list[str], end: int
) -> NamedField | None:
    """The name that ends before ``end``: of ``the PDF that Marcus Hale sent``."""
    while end and (words[end - 1] in _AUXILIARIES or words[end - 1] in _TO_ME):
        end -= 1
    at = end
    while at > max(0, end - _MAX_NAME_WORDS) and words[at - 1] not in _ENDS_NAME | _ARTICLES:
        at -= 1
    return _named(text, tokens, at, end, "from")


def _named(
    text: str, tokens: list[re.Match[str]], at: int, end: int, field: str
) -> NamedField | None:
    if at >= end:
        return None
    start, stop = tokens[at].start(), tokens[end - 1].end()
    each = [tokens[place][0] for place in range(at, end)]
    names = dict.fromkeys([" ".join(each), *reversed(each)])
    return NamedField(text[start:stop], start, stop, field, "person", False, tuple(names))
