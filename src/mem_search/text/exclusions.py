"""What a question leaves out, in words: ``not about tests``, ``without Redis``, ``außer Python``.

Read is only what says so of a list of things. ``why does it not start`` and ``run it without a
lock`` ask for the negation itself. Whether the store knows the words, and whether a record says
``without regex`` itself, is decided in ``search.plain_reading``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mem_search.patterns import pattern
from mem_search.text import languages
from mem_search.text.plain_facts import DOCUMENTS, NamedField
from mem_search.text.question_times import EMPTY, QUOTED
from mem_search.text.words import STOP_WORDS

_STRONG: Final = (
    "(?:but|and|though) not|other than|apart from|aside from|excluding|leaving out|nothing about"
    "|not (?:about|by|from|concerning|regarding)|except(?: for| in| from| by)?"
    "|aber nicht|(?:nicht|nichts) (?:von|vom|über|aus|zu)|außer|ausser|ausgenommen"
    "|mit ausnahme (?:von|der|des)"
    "|mais pas|pas (?:de|sur)|sauf|hormis|excepté|à l'exception (?:de|du|des)"
    "|pero no|excepto|salvo|menos los|menos las|aparte de|ma non|tranne|eccetto|salvo"
    "|maar niet|behalve|uitgezonderd|mas não|exceto"
)  # fmt: skip
_WEAK: Final = "without|not in|not on|ohne|sans|sin|senza|zonder|sem"
_NOT: Final = "not|nicht|pas|no|non|niet|não"
"""A lone one excludes only behind a comma: ``the image, not the workflow``."""

_MARKER: Final = pattern(
    rf"(?:(?P<comma>,)\s*(?:(?P<after_comma>{_STRONG}|{_WEAK})|(?P<bare>{_NOT}))"
    rf"|(?<!\S)(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK})))\s+(?=[\w@#(«“'\"])",
    re.IGNORECASE,
)
MARK: Final = rf"{_STRONG}|{_WEAK}|(?<=,\s)(?:{_NOT})"
"""Without one of these a text leaves nothing out."""

SORTS: Final = frozenset(
    "all anything articles bugs builds change changes cleanup code commits crashes documentation"
    " docs documents errors everything features files fixes hooks ideas improvements issues"
    " letters"
    " mail mails messages news notes people posts prs problems questions records releases reports"
    " requests reviews sessions stuff support tasks tests things tickets types updates work"
    " alles änderungen arbeiten aufgaben bilder briefe dateien dokumente fehler hilfen ideen mails"
    " nachrichten notizen probleme sachen tests verbesserungen"
    " articles changements corrections courriels documents erreurs fichiers idées lettres notes"
    " problèmes tout travaux"
    " archivos arreglos cambios cartas correos documentos errores ideas mejoras notas problemas"
    " todo cambiamenti errori lettere modifiche problemi tutto alles berichten fouten problemen"
    " wijzigingen alterações erros mudanças problemas".split()
)  # fmt: skip
"""What ``without`` is said of where it leaves something out of a list."""

BEFORE_OBJECTS: Final = frozenset(
    "a about an any by for from her his in its my of on our that the their those to your"
    " an aus bei dem den der des die das ein eine einen einem in im mit über um von vom zu zum zur"
    " au aux avec d' de des du en l' la le les sur un une con de del el en la las los sobre una un"
    " di da il lo gli i aan de het een van over do da dos das o os as".split()
)
_LEADS: Final = frozenset("a an any anything un une ein eine einen uno una een um uma".split())
"""With one of these right behind it ``without a lock`` is what is asked."""

_NO_OBJECT: Final = frozenset(
    "all and any anything being cases extra immediately just other block blocks clause"
    " clauses errors everything having it me my or"
    " problems statement statements success that them then these they this using us we when where"
    " which who you your clauses handler handlers".split()
)
_JOINING: Final = languages.words("joining") | frozenset("nor noch ni né e o en of y".split())
_ENDING: Final = (
    frozenset("after before but during if since until when where while which who".split())
    | languages.words("following")
) - BEFORE_OBJECTS
_WORD: Final = pattern(r"[\w@#][\w@#./'’+-]*|[,;:?!.]")
_CLAUSES: Final = frozenset(
    "as because if since that unless until when where while which who".split()
)
_STATING: Final = frozenset(
    "always are be been cannot has is now shall should supported was were will would".split()
)
"""With one of these before it, a negation is part of a statement: ``is supported except for``."""

_NEVER: Final = languages.words("never") | frozenset("can could do does did if may must".split())
MAX_WORDS_BEFORE: Final = 9
"""Words before the marker; behind a longer sentence it is part of a statement."""

MAX_OBJECT_WORDS: Final = 3
MAX_EXCLUDED: Final = 3
MAX_CHARS: Final = 200
"""Characters of a question that is read; a longer one tells a story."""


def find(text: str) -> Iterator[NamedField]:
    """What ``text`` leaves out, one for each thing; ``names`` are its words, the marker first.

    ``sure`` is False where a record may say the same (``without regex``): then it is no exclusion.
    """
    if len(text) > MAX_CHARS or "\n" in text:
        return
    quoted = [match.span() for match in QUOTED.finditer(text)]
    count = 0
    for match in _MARKER.finditer(text):
        start, end = match.span()
        before = re.findall(r"[\w'’-]+", text[:start].lower())
        if any(start < last and first < end for first, last in quoted):
            continue
        if not _is_of_a_list(text, match, before):
            continue
        marker = match["strong"] or match["after_comma"] or match["bare"] or match["weak"]
        weak = match["weak"] is not None or marker.lower().startswith("except")
        for _, last, words in _objects(text, end):
            yield NamedField(
                text[start:last].lstrip(" ,"), start, last, "", "negation", not weak,
                (marker, *words),
            )  # fmt: skip
            start = last
            count += 1
            if count == MAX_EXCLUDED:
                return


def _is_of_a_list(text: str, match: re.Match[str], before: list[str]) -> bool:
    """Whether what stands before the marker is something that is listed."""
    said = [word for word in before if word not in EMPTY and word not in STOP_WORDS]
    if not (said or SORTS.intersection(before)) or not (_NEVER | _STATING).isdisjoint(before):
        return False
    marker = match[0].strip(" ,")
    # "Doctors Without Borders": a name has a capital where a sentence has none.
    if marker[:1].isupper() and not text.isupper():
        return False
    if len(before) > MAX_WORDS_BEFORE:
        return False
    marker = (match["strong"] or match["after_comma"] or "").lower()
    if marker and not marker.endswith((" not", "nicht", " pas", " no", " niet", " não", " non")):
        return True
    following = re.match(r"[\w'’]+", text[match.end() :])
    if following is None or following[0].lower() in _LEADS or following[0].lower().endswith("ing"):
        return False
    return not (SORTS | DOCUMENTS).isdisjoint(before)


def _objects(text: str, at: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The things behind a marker: start, end, and the words of each."""
    words: list[str] = []
    start = end = at
    for token in _WORD.finditer(text, at):
        word = token[0].lower().rstrip(".'’")
        if word in (",", "") or word in _JOINING or word in ";:?!":
            if words:
                yield start, end, tuple(words)
            words, start = [], token.end()
            if word in ("", ";", ":", "?", "!"):
                return
            continue
        if word in _CLAUSES:  # "except when the line is empty"
            return
        if not words and (word in BEFORE_OBJECTS or word in STOP_WORDS):
            continue
        if word in _ENDING or word in BEFORE_OBJECTS or word in _NO_OBJECT:
            break
        if len(words) == MAX_OBJECT_WORDS:  # a clause, and no thing
            return
        words.append(word)
        end = token.end()
    if words:
        yield start, end, tuple(words)
