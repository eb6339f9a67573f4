"""Citations as RIS, which reference programs such as Zotero and EndNote read.

Lines are ``TAG  - value``, ended by CR LF; ``TY`` begins an entry and ``ER`` ends it. UTF-8.
Source: the RIS format specification of Research Information Systems (2011 tags).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mem_search.features.citations.authors import Name
from mem_search.features.citations.csl import Item, day_of
from mem_search.renderers.safe_text import one_line

_TYPES: Mapping[str, str] = {
    "webpage": "ELEC",
    "personal_communication": "PCOMM",
    "report": "RPRT",
}
_END = "\r\n"


def as_ris(items: Sequence[Item]) -> str:
    """The entries, separated by blank lines."""
    return _END.join(_entry(item) for item in items)


def _entry(item: Item) -> str:
    return "".join(f"{tag}  - {one_line(value)}{_END}" for tag, value in _lines(item))


def _lines(item: Item) -> Iterator[tuple[str, str]]:
    yield "TY", _TYPES.get(item["type"], "GEN")
    yield "ID", item["id"]
    for tag, role in (("AU", "author"), ("A2", "recipient")):
        for person in item.get(role, ()):
            yield tag, _person(person)
    yield "TI", item.get("title", "")
    if issued := day_of(item.get("issued")):
        yield "PY", f"{issued[0]:04}"
        if len(issued) > 1:
            yield "DA", _day(issued)
    if accessed := day_of(item.get("accessed")):
        yield "Y2", _day(accessed)
    fields = (("T2", "container-title"), ("M3", "genre"), ("UR", "URL"), ("DB", "archive"),
              ("CN", "call-number"))  # fmt: skip
    for tag, name in fields:
        if value := item.get(name):
            yield tag, value
    for keyword in filter(None, item.get("keyword", "").split(", ")):
        yield "KW", keyword
    yield "ER", ""


def _day(day: tuple[int, ...]) -> str:
    """``2024/02/01``; the slashes stay where a part is not known: ``2024/02/``."""
    written = [f"{part:0{width}}" for part, width in zip(day, (4, 2, 2), strict=False)]
    return "/".join([*written, *[""] * (3 - len(written))])


def _person(person: Name) -> str:
    if "literal" in person:
        return person["literal"]
    family = f"{person.get('non-dropping-particle', '')} {person['family']}".strip()
    return ", ".join(part for part in (family, person.get("given"), person.get("suffix")) if part)
