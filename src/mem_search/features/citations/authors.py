"""Names of CSL-JSON from a line that names authors.

The name of a person is split, because styles print its parts in different orders. Anything else
is kept whole as ``literal``, so that no style turns an institution, a program or an address into
a family name. In doubt a name stays whole: whole it is right in every style but for the order of
its words, and split wrongly it is another name. Pure functions; ADR 0027 has the reasons.

Sources: CSL 1.0.2 "Name variables"; "von Last, Jr, First" as in BibTeXing, section 4; initials
after the family name as in Citing Medicine, 2nd edition, chapter 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from mem_search.features.citations.known_names import (
    GIVEN_NAMES,
    INSTITUTION,
    NO_PERSON,
    ORGANISATIONS,
    SURNAMES_TOO,
    TRADES,
)
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import one_line
from mem_search.text.addresses import addresses

Name = dict[str, str]
"""``{"family", "given", …}`` or ``{"literal"}``: a name variable of CSL-JSON 1.0."""

OTHERS: Final[Name] = {"literal": "et al."}
"""Authors that the line leaves out; always the last of a list."""

MAX_NAME_WORDS = 6
"""Words; a longer text is a description."""

_LISTED = pattern(r"[;；、\n|]")
_AND = pattern(r",?\s+(?:and|&)\s+", re.IGNORECASE)
_OTHERS = pattern(
    r"[,\s]+(?:(?:and|&)\s+(?:others|colleagues)|et\.?\s+al\b\.?)\s*\Z", re.IGNORECASE
)
_BY = pattern(r"by:?\s+(?=\w)", re.IGNORECASE)
_IN_BRACKETS = pattern(
    r"\s*[(\[](?:ed|eds|editor|author|[^()\[\]\s@]+@[^()\[\]\s@]+)\.?[)\]]\Z", re.IGNORECASE
)

_PARTICLES = frozenset(
    "van von vom zum zur zu und der den de del della delle di da do dos das du des la le les lo "
    "los las ten ter te 't af av bin ibn bint al el y i e".split()
)
_JOINS = frozenset("y i e".split())
"""Particles that join two family names: Ortega y Gasset."""
_OWN_PARTICLES = frozenset(
    "Van Von Der Den De Del Della Di Da Dos Du Des La Le Las Los Ter Ten St. Saint Bin Ibn "
    "El".split()
)
"""Capitals make a particle a part of the family name: Le Guin."""
_FAMILY_ALONE = frozenset("De Del Della Des Du El La Las Le Los St. Von".split())
"""Those that begin a family name also as the first word; the Van of Van Morrison does not."""
_SUFFIXES = frozenset("jr sr jnr snr ii iii iv".split())
_DEGREES = frozenset("phd dphil md msc ma ba bsc mba jd llm esq frs obe cbe mph rn".split())
_HONOURS = frozenset("dr prof professor mr mrs ms mx sir dame rev fr".split())

_LIKE_INITIALS = frozenset(
    "AI AG AB SA BV NV SE AS KG CO UK US EU UN TV IT HR PR QA UI UX ML VR IO DB OS CS ID HQ "
    "X".split()
)
"""Capitals that follow a name without being initials: Siemens AG, Google UK, Malcolm X."""

_WORD = pattern(r"[^\W\d_](?:[^\W\d_]|[.’'\-\u2010])*\Z|['’]t\Z")
_CAMEL = pattern(r"(?<=[a-z])[A-Z]")
_CAMEL_NAMES = pattern(r"(?:Mc|Mac|Fitz|De|Di|Du|Da|La|Le|Van|O)(?=[A-Z])")
_INITIALS = pattern(r"(?:[^\W\d_]\.[\s\-]*)*[^\W\d_]\.?\Z")
_VANCOUVER = pattern(  # Smith JA
    r"(?:(?:van|von|der|den|de|del|della|di|da|la|le|Le|De|Van) )*"
    r"[^\W\d_](?!\S*\.)(?=\S*[a-z])\S+ [A-Z]{1,3}\Z"
)
_ELIDED = pattern(r"(?:d|l|dell|dall|all|nell)['’](?=[^\W\d_])")
_VOWEL = pattern("[AEIOUYÀ-ÖØ-Ý]")
_EAST_ASIAN = pattern("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")


def is_surely_person(name: str) -> bool:
    """Whether it begins with a given name, has initials, or has the family name first."""
    words = _without_honours(name.split())
    return bool(words) and (
        words[0].lower() in GIVEN_NAMES or "," in name or any(map(_INITIALS.match, words))
    )


def names(text: str, organisations: Collection[str] = ()) -> list[Name]:
    """The authors in ``text``, in its order, once each; ``OTHERS`` last where it omits some.

    ``organisations`` are names, in lower case, that are no person's where this source has them.
    """
    if text.strip().lower() in organisations:
        return [{"literal": one_line(text)}]
    left_out = False
    authors: dict[tuple[tuple[str, str], ...], Name] = {}
    for part in map(one_line, _LISTED.split(text)):
        shorter = _OTHERS.sub("", part)
        is_mark = shorter.strip(" .,").lower() in ("et al", "others")
        left_out |= shorter != part or is_mark
        if shorter.strip().lower() in organisations:
            authors[(("literal", one_line(shorter)),)] = {"literal": one_line(shorter)}
        elif not is_mark:
            authors.update({tuple(author.items()): author for author in _authors(shorter)})
    return [*authors.values(), OTHERS] if left_out and authors else [*authors.values()]


def name(person: str) -> Name:
    """One author: ``Ada Lovelace``, ``Lovelace, Ada``, ``King, Martin, Jr.``, or a literal."""
    person = _IN_BRACKETS.sub("", _BY.sub("", one_line(person).strip(' ,;"'), count=1))
    if not person:
        return {}
    first, *others = map(str.strip, person.split(","))
    parts = [first, *(part for part in others if not _is(part, _DEGREES))]
    if len(parts) > 3 or not all(parts) or not _is_person(parts):
        return {"literal": person}
    parts = [_recased(part) for part in parts]
    if len(parts) == 1:
        if _is_vancouver(parts[0]):
            family, initials = _initials_apart(parts[0])
            return _with(_family(family.split()), initials, "")
        return _in_order(_without_honours(parts[0].split()))
    suffix = next((part for part in parts[1:] if _is(part, _SUFFIXES)), "")
    given = [part for part in parts[1:] if part != suffix]
    if not given:  # Martin King, Jr.
        return {**_in_order(parts[0].split()), "suffix": suffix}
    if len(given) > 1:
        return {"literal": person}
    return _with(_family(parts[0].split()), given[0], suffix)


def _authors(text: str) -> list[Name]:
    """The authors of one entry: an address, a name, or several with commas or "and"."""
    if "@" in text:
        addressed = addresses([text])
        if all("@" in address and address in text for _, address in addressed):
            return [name(display or address) for display, address in addressed]
    text = _BY.sub("", one_line(text), count=1)
    several = [name(person) for part in _AND.split(text) for person in _at_commas(part)]
    # Procter & Gamble is one author: "and" and "&" separate only people and whole institutions.
    if len(several) > 1 and _are_authors(several):
        return several
    whole = name(text)
    return [whole] if whole else []


def _are_authors(authors: Sequence[Name]) -> bool:
    """Whether each stands alone, so that what separates them is no part of a name.

    "Department of Health and Human Services" is one: after "of" its name may go on.
    """
    bodies = [author.get("literal", "").lower().split() for author in authors]
    for place, (author, body) in enumerate(zip(authors, bodies, strict=True)):
        if "family" in author:
            continue
        if len(body) < 2 or INSTITUTION.isdisjoint(body):
            return False
        is_open = body[-1] not in INSTITUTION and place + 1 < len(bodies)
        if is_open and INSTITUTION.isdisjoint(bodies[place + 1]):
            return False
    return True


def _at_commas(text: str) -> list[str]:
    """``Ada Lovelace, Alan Turing`` are two, ``Lovelace, Ada`` and ``Martin King, Jr.`` one."""
    parts: list[str] = []
    for part in map(str.strip, text.split(",")):
        if parts and (_is(part, _SUFFIXES) or _is(part, _DEGREES)):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    if len(parts) > 1 and all(map(_VANCOUVER.match, parts)) and any(map(_is_vancouver, parts)):
        return [", ".join(_initials_apart(part)) for part in parts]
    pairs = [", ".join(parts[at : at + 2]) for at in range(0, len(parts), 2)]
    if len(parts) % 2 == 0 and all(_INITIALS.match(_plain(part)) for part in parts[1::2]):
        return pairs  # Smith, J., Doe, A. B.
    if len(parts) == 2 and _is_family(parts[0], parts[1]):
        return [text]
    if all(len(_plain(part).split()) > 1 for part in parts):
        authors = [name(part) for part in parts]
        people = sum("family" in author for author in authors)
        # A unit and its institution are one author, and so are a person and an affiliation.
        several = people == len(parts) or (len(parts) > 2 and people and _are_authors(authors))
        return parts if several else [text]
    if len(parts) > 2 and all(len(part.split()) > 1 for part in parts[2:]):
        return [pairs[0], *parts[2:]]  # Lovelace, Ada, Alan Turing
    return [text]


def _is_family(first: str, second: str) -> bool:
    """Whether ``Le Guin, Ursula K.`` is one name: of particles, or with initials at its end."""
    begins = first.split()[:1]
    ends = second.split()[-1:]
    return bool(begins and ends) and (
        begins[0] in _PARTICLES | _FAMILY_ALONE
        or bool(_INITIALS.match(ends[0]) and not _INITIALS.match(first.split()[-1]))
    )


def _plain(part: str) -> str:
    """``part`` without a suffix or degree after it."""
    return part.partition(",")[0]


def _is_person(parts: Sequence[str]) -> bool:
    words = " ".join(parts).split()
    plain = [word.strip(".").lower() for word in " ".join(words).replace("-", " ").split()]
    if not (1 < len(words) <= MAX_NAME_WORDS and all(_WORD.match(word) for word in words)):
        return False
    if " ".join(words).lower().replace("’", "'").removeprefix("the ") in ORGANISATIONS:
        return False
    if not INSTITUTION.union(NO_PERSON, TRADES).isdisjoint(plain) or any(
        _CAMEL.search(_CAMEL_NAMES.sub("", word)) for word in words
    ):
        return False
    if any(map(_EAST_ASIAN.search, words)):  # the family name is first, which no style here knows
        return False
    initials = any(len(word.strip(".")) == 1 or "." in word.strip(".") for word in words)
    if not (SURNAMES_TOO.isdisjoint(plain) or len(parts) > 1 or initials):
        return False
    if all(word[0].islower() for word in words if word not in _PARTICLES):
        return all(word in _PARTICLES for word in words[:-1])
    return _are_capitals_of_a_person(parts, words)


def _are_capitals_of_a_person(parts: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words in capitals are names, not acronyms: LOVELACE, Ada, but not NASA JPL."""
    capital = [word for word in words if _is_shouted(word) and not _is(word, _SUFFIXES)]
    if _is_vancouver(parts[0]) or not capital:
        return not (len(parts) == 1 and words[-1] in _LIKE_INITIALS - {"X"})
    if len(capital) < len(words) and len(parts) == 1 and len(max(capital, key=len)) < 4:
        return False
    return all(map(_VOWEL.search, capital)) and (len(parts) > 1 or max(map(len, capital)) > 3)


def _is(part: str, words: frozenset[str]) -> bool:
    return part.replace(".", "").strip().lower() in words


def _without_honours(words: list[str]) -> list[str]:
    """``words`` without titles before the name, which no style prints."""
    at = 0
    while at < len(words) - 2 and _is(words[at], _HONOURS):
        at += 1
    return words[at:]


def _is_vancouver(part: str) -> bool:
    """Whether it is a family name and initials without stops: ``Smith JA``."""
    last = part.split()[-1:]
    return bool(_VANCOUVER.match(part)) and not (
        len(last[0]) > 2 or last[0] in _LIKE_INITIALS or _is(last[0], _SUFFIXES)
    )


def _initials_apart(part: str) -> tuple[str, str]:
    """``Smith JA`` as ``Smith`` and ``J. A.``."""
    family, _, initials = part.rpartition(" ")
    return family, " ".join(f"{letter}." for letter in initials)


def _in_order(words: list[str]) -> Name:
    """``Ludwig van Beethoven``: the family name is last, with the particles before it."""
    suffix = words[-1] if len(words) > 1 and _is(words[-1], _SUFFIXES) else ""
    words = words[:-1] if suffix else words
    last = len(words) - 1
    if _INITIALS.match(words[last]) and words[last].endswith(".") and not _INITIALS.match(words[0]):
        return _with(_family(words[:last]), words[last], suffix)  # Lovelace A.
    # The last group of particles begins the family name, and all that follows belongs to it.
    at = next((at for at in range(last, 0, -1) if _begins_family(words[at])), last)
    while at > 1 and _begins_family(words[at - 1]) and words[at - 1] not in _JOINS:
        at -= 1
    if at > 1 and words[at] in _JOINS:  # José Ortega y Gasset
        at -= 1
    if at == 1 and len(words) > 1 and words[0] in _FAMILY_ALONE | _PARTICLES:
        at = 0
    return _with(_family(words[at:]), " ".join(words[:at]), suffix)


def _begins_family(word: str) -> bool:
    return word in _PARTICLES or word in _OWN_PARTICLES or bool(_ELIDED.match(word))


def _family(words: list[str]) -> Name:
    at = 0
    while at < len(words) - 1 and words[at] in _PARTICLES - _JOINS:
        at += 1
    particle = {"non-dropping-particle": " ".join(words[:at])} if at else {}
    return {"family": " ".join(words[at:]), **particle}


def _with(family: Name, given: str, suffix: str) -> Name:
    known = {**family, "given": given, "suffix": suffix}
    return {part: words for part, words in known.items() if words}


def _is_shouted(word: str) -> bool:
    return len(word) > 2 and word.isupper() and "." not in word


def _recased(part: str) -> str:
    """``MCDONALD`` as ``McDonald``, ``VAN DER BERG`` as ``van der Berg``; others as they are."""
    if _is_vancouver(part) or not any(map(_is_shouted, part.split())):
        return part
    whole = part.isupper()
    words = []
    for word in part.split():
        if (_is_shouted(word) or (whole and len(word) > 1 and "." not in word)) and not _is(
            word, _SUFFIXES
        ):
            small = word.lower()
            word = small if small in _PARTICLES - _JOINS else word.title()
            word = re.sub(r"\bMc([a-z])", lambda match: f"Mc{match[1].upper()}", word)
        words.append(word)
    return " ".join(words)
