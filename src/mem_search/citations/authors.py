"""Names of CSL-JSON from a line that names authors.

The name of a person is split, because styles print its parts in different orders. Anything else
is kept whole as ``literal``, so that no style turns a team, a program or an address into a family
name. Pure functions.
"""

from __future__ import annotations

import re
from email.utils import getaddresses

from mem_search.renderers.safe_text import one_line

Name = dict[str, str]
"""``{"family", "given", …}`` or ``{"literal"}``: a name variable of CSL-JSON 1.0."""

LONGEST_NAME = 5
"""Words; a longer text is a description."""

_LISTED = re.compile(r"[;\n|]")
_AND = re.compile(r",?\s+(?:and|&)\s+")
_PARTICLES = frozenset(
    "van von der den de del della di da dos du des la le ten ter zu zur af av bin ibn al el".split()
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv"))
_NO_PERSON = frozenset(
    "team group inc ltd llc gmbh corp corporation company foundation university institute college "
    "department ministry office agency committee council association society project contributors "
    "authors developers community labs lab research bot agent assistant support news press media "
    "times post magazine journal blog docs documentation the of for ai api code cli system "
    "et and &".split()
)
"""Words that no name of a single person contains."""
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[.’'\-\u2010])*\Z")


def names(text: str) -> list[Name]:
    """The authors in ``text``, in its order, without repeats."""
    found = [author for part in _LISTED.split(text) for author in _authors(part)]
    return [author for at, author in enumerate(found) if author not in found[:at]]


def name(person: str) -> Name:
    """One author: ``Ada Lovelace``, ``Lovelace, Ada``, ``King, Martin, Jr.``, or a literal."""
    person = one_line(person).strip(' ,;"')
    parts = [part.strip() for part in person.split(",")]
    if not person:
        return {}
    if len(parts) > 3 or not all(parts) or not _is_person(person.replace(",", " ")):
        return {"literal": person}
    if len(parts) == 1:
        return _in_order(person.split())
    suffix = next((part for part in parts[1:] if _is_suffix(part)), "")
    given = [part for part in parts[1:] if part != suffix]
    if not given:  # Martin King, Jr.
        return {**_in_order(parts[0].split()), "suffix": suffix}
    if len(given) > 1:
        return {"literal": person}
    return _with(_family(parts[0].split()), given[0], suffix)


def _authors(text: str) -> list[Name]:
    """The authors of one entry: an address, a name, or several with commas or "and"."""
    if "@" in text:
        addressed = getaddresses([text])
        if all("@" in address and address in text for _, address in addressed):
            return [name(display or address) for display, address in addressed]
    several = [name(person) for part in _AND.split(text) for person in _at_commas(part)]
    # Procter & Gamble is one author: "and" and "&" separate only names of people.
    if len(several) > 1 and all("family" in author for author in several):
        return several
    whole = name(text)
    return [whole] if whole else []


def _at_commas(text: str) -> list[str]:
    """``Ada Lovelace, Alan Turing`` are two, ``Lovelace, Ada`` and ``Martin King, Jr.`` one."""
    parts = [part.strip() for part in text.split(",")]
    return parts if all(len(part.split()) > 1 for part in parts) else [text]


def _is_person(words: str) -> bool:
    parts = words.split()
    plain = [part.strip(".").lower() for part in parts]
    return (
        1 < len(parts) <= LONGEST_NAME
        and all(_WORD.match(part) for part in parts)
        and not _NO_PERSON.intersection(plain)
        # Acronyms such as NASA JPL are no family names; initials have dots or are single letters.
        and not any(len(part) > 2 and part.isupper() for part in parts if "." not in part)
    )


def _is_suffix(word: str) -> bool:
    return word.strip(".").lower() in _SUFFIXES


def _in_order(words: list[str]) -> Name:
    """``Ludwig van Beethoven``: the family name is last, with the particles before it."""
    suffix = words[-1] if _is_suffix(words[-1]) else ""
    words = words[:-1] if suffix else words
    at = len(words) - 1
    while at > 0 and words[at - 1] in _PARTICLES:
        at -= 1
    return _with(_family(words[at:]), " ".join(words[:at]), suffix)


def _family(words: list[str]) -> Name:
    at = 0
    while at < len(words) - 1 and words[at] in _PARTICLES:
        at += 1
    particle = {"non-dropping-particle": " ".join(words[:at])} if at else {}
    return {"family": " ".join(words[at:]), **particle}


def _with(family: Name, given: str, suffix: str) -> Name:
    known = {**family, "given": given, "suffix": suffix}
    return {part: words for part, words in known.items() if words}
