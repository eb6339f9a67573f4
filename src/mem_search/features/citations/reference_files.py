"""Citations as items of CSL-JSON, and as files for reference programs: BibTeX and RIS. UTF-8.

Every entry of BibTeX is ``@misc``, the one type for anything but books and articles that all styles
of BibTeX and biblatex know. Characters that mean something to TeX are escaped, and a second pair of
braces keeps the capitals of a title. Source: B. Beeton and O. Patashnik, "BibTeXing", 1988, section
3, and the biblatex manual for ``url`` and ``urldate``.

Lines of RIS are ``TAG  - value``, ended by CR LF; ``TY`` begins an entry and ``ER`` ends it.
Source: the RIS format specification of Research Information Systems (2011 tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Final
from unicodedata import combining, normalize
from urllib.parse import quote

from mem_search.features.citations.authors import OTHERS, Name, is_surely_person, names
from mem_search.features.citations.authors import name as name_of
from mem_search.model import Citation, Record
from mem_search.patterns import pattern
from mem_search.records.registry import installed_kinds
from mem_search.renderers.safe_text import one_line
from mem_search.text.addresses import addresses

Item = Mapping[str, Any]
"""One item of CSL-JSON: ``id``, ``type`` and the variables that are known."""

ARCHIVE = "mem-search"

_WEB = pattern(r"(?:https?|ftp)://\S+\Z", re.IGNORECASE)
_DAY = 86_400_000
"""Milliseconds."""


def item(citation: Citation, record: Record, tz: tzinfo, page: int | None = None) -> dict[str, Any]:
    """The item of ``record``, whose ``citation`` this is; dates are in ``tz``. ``page`` is the one
    that is cited."""
    kind = installed_kinds().get(record.kind)
    url = one_line(citation.url)
    on_web = bool(_WEB.match(url))
    variables: dict[str, Any] = {
        "id": str(record.ref),
        "type": kind.csl_type,
        "title": _title(citation, record),
        "author": names(citation.author, organisations_of(record, citation)),
        "recipient": _recipients(record),
        "issued": (
            {"date-parts": [[*citation.published_in]]}
            if citation.published_in
            else _day(_issued(citation), tz)
        ),
        "accessed": _day(_accessed(citation) if on_web else None, tz),
        "container-title": one_line(citation.domain) if kind.csl_type == "webpage" else "",
        "genre": kind.genre,
        "page": str(page or ""),
        "URL": url if on_web else "",
        "keyword": ", ".join(one_line(tag) for tag in record.tags),
        "call-number": str(record.ref),
        # A reader can follow an address; anything else is found only in this store.
        "archive": "" if on_web else ARCHIVE,
        "archive_location": "" if on_web else str(record.ref),
    }
    return {key: value for key, value in variables.items() if value}


_NAMED_AS: Final = (
    "vendor", "organisation", "organization", "company", "institution", "publisher", "site",
    "site_name",
)  # fmt: skip
"""Metadata whose values are bodies, and people only where their names are surely a person's."""

_ROLES: Final = frozenset(
    (
        "account accounts admin alerts billing bookings care contact customer customerservice "
        "donotreply hello help info invoice invoices mail marketing news newsletter no-reply "
        "noreply notification notifications office order orders payments receipt receipts "
        "rechnung reply reservations sales security service shop store support team tickets "
        "updates welcome "
    ).split()
)
"""Local parts of addresses that belong to nobody in person."""


def organisations_of(record: Record, citation: Citation) -> frozenset[str]:
    """Names, in lower case, that are no person's where this record has them.

    The vendor or the site says so of itself; so does a sender whose address is a role's, or whose
    domain is called like the sender.
    """
    named = [
        value
        for name in _NAMED_AS
        if isinstance(value := record.metadata.get(name), str) and value.strip()
    ]
    domains = {_plain(citation.domain)}
    if record.kind == "email":
        domains = set()
        for name, address in addresses(_listed(record.metadata.get("from"))):
            local, _, domain = address.partition("@")
            role = local.lower().partition("+")[0] in _ROLES
            if role or not _spellings(name).isdisjoint(_labels(domain)):
                named.append(name)
    organisations = {each.strip().lower() for each in named if not is_surely_person(each.strip())}
    labels = {label for domain in domains for label in _labels(domain)}
    if not _spellings(citation.author).isdisjoint(labels):
        organisations.add(citation.author.strip().lower())
    return frozenset(organisations)


def _labels(domain: str) -> set[str]:
    return {_plain(label) for label in domain.lower().split(".")[:-1] if len(label) > 2}


def _plain(text: str) -> str:
    """Letters and digits alone, as a domain writes a name; dots stay."""
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == ".")


def _spellings(name: str) -> set[str]:
    """How a domain may write ``name``, which has no dots: Müller as müller, mueller or muller."""
    plain = _plain(name).replace(".", "")
    bare = "".join(each for each in normalize("NFKD", plain) if not combining(each))
    return {plain, bare, plain.translate(_AS_TWO)}


_AS_TWO: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _listed(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def day_of(date_variable: Mapping[str, Any] | None) -> tuple[int, ...]:
    """(year, month, day) of a date variable, as far as it has them; empty when there is none."""
    return tuple(date_variable["date-parts"][0]) if date_variable else ()


def _title(citation: Citation, record: Record) -> str:
    title = one_line(citation.source_title)
    # Listings put a prompt in quotes; a citation style adds its own.
    if record.kind == "user_prompt" and len(title) > 2 and title[0] == title[-1] == '"':
        title = title[1:-1].strip()
    return title


def _issued(citation: Citation) -> int | None:
    """When it was published. The time when a page was stored says nothing about that."""
    if citation.published_at is not None or citation.source_type == "website":
        return citation.published_at
    return citation.created_at


def _accessed(citation: Citation) -> int | None:
    """When it was last read. A page was read at the latest when it was stored."""
    if citation.accessed_at is None and citation.source_type == "website":
        return citation.created_at
    return citation.accessed_at


def _day(at: int | None, tz: tzinfo) -> dict[str, Any] | None:
    if at is None:
        return None
    day = _date(at, tz)
    return {"date-parts": [[day.year, day.month, day.day]]}


def _date(at: int, tz: tzinfo) -> date:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at)
    # Midnight in UTC is a date without a time, as pages and headers give it. Converted to a
    # zone west of Greenwich it would become the day before.
    if at % _DAY == 0:
        return moment.date()
    try:
        return moment.astimezone(tz).date()
    except OverflowError:  # the first or last day of the calendar
        return moment.date()


def _recipients(record: Record) -> list[Name]:
    header = record.metadata.get("to") if record.kind == "email" else None
    lines = [header] if isinstance(header, str) else header
    if not isinstance(lines, list):
        return []
    people = addresses([each for each in lines if isinstance(each, str)])
    return [name_of(display or address) for display, address in people if display or address]


MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
"""Macros that every style of BibTeX defines."""

# Not \{ and \}: BibTeX counts braces, also escaped ones, to find the end of a field.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)
_NO_KEY = pattern(r"[^A-Za-z0-9_]+")
_UNSAFE_IN_URL = pattern(r"[\s{}\\]")


def as_bibtex(items: Sequence[Item]) -> str:
    """The entries, separated by blank lines."""
    return "\n".join(_entry(item) for item in items)


def key(ref: str) -> str:
    """``note-3`` for ``note:3``: unique, and the same in every export."""
    return _NO_KEY.sub("-", ref)


def escaped(text: str) -> str:
    """``text`` on one line, escaped so that TeX prints it unchanged."""
    return one_line(text).translate(_ESCAPES)


def _entry(item: Item) -> str:
    fields = "".join(f"  {name} = {value},\n" for name, value in _fields(item))
    return f"@misc{{{key(item['id'])},\n{fields}}}\n"


def _fields(item: Item) -> Iterator[tuple[str, str]]:
    if people := item.get("author"):
        yield "author", f"{{{_people(people)}}}"
    if title := item.get("title"):
        yield "title", f"{{{{{escaped(title)}}}}}"
    for name, part in zip(("year", "month", "day"), day_of(item.get("issued")), strict=False):
        yield name, MONTHS[part - 1] if name == "month" else f"{{{part:0{4 * (name == 'year')}}}}"
    where = (item.get("genre"), item.get("archive"), item.get("archive_location"))
    if published := ", ".join(escaped(part) for part in where if part):
        yield "howpublished", f"{{{published}}}"
    if page := item.get("page"):
        yield "pages", f"{{{page}}}"
    if site := item.get("container-title"):
        yield "organization", f"{{{escaped(site)}}}"
    if url := item.get("URL"):
        yield "url", f"{{{_url(url)}}}"
    if accessed := day_of(item.get("accessed")):
        yield "urldate", "{{{:04}-{:02}-{:02}}}".format(*accessed)
    if keywords := item.get("keyword"):
        yield "keywords", f"{{{escaped(keywords)}}}"


def _people(people: Iterable[Name]) -> str:
    return " and ".join("others" if person == OTHERS else _person(person) for person in people)


def _person(person: Name) -> str:
    """``van Beethoven, Ludwig`` or ``King, Jr., Martin``; braces keep anything else whole."""
    if "literal" in person:
        return f"{{{escaped(person['literal'])}}}"
    # Without braces "Ortega y" would be read as particles, and "Le" alone as a given name.
    family = escaped(person["family"])
    particle = escaped(person.get("non-dropping-particle", ""))
    if "given" not in person:
        return f"{{{f'{particle} {family}'.strip()}}}"
    if any(word[0].islower() for word in person["family"].split()):
        family = f"{{{family}}}"
    whole = f"{particle} {family}".strip()
    others = (escaped(person[part]) for part in ("suffix", "given") if part in person)
    return ", ".join((whole, *others))


def _url(url: str) -> str:
    """The URL for a verbatim field of biblatex, in which nothing can be escaped."""
    return _UNSAFE_IN_URL.sub(lambda match: quote(match[0]), one_line(url))


_RIS_TYPES: Mapping[str, str] = {
    "webpage": "ELEC",
    "personal_communication": "PCOMM",
    "report": "RPRT",
}
_LINE_END = "\r\n"


def as_ris(items: Sequence[Item]) -> str:
    """The entries, separated by blank lines."""
    return _LINE_END.join(_ris_entry(item) for item in items)


def _ris_entry(item: Item) -> str:
    return "".join(f"{tag}  - {one_line(value)}{_LINE_END}" for tag, value in _ris_lines(item))


def _ris_lines(item: Item) -> Iterator[tuple[str, str]]:
    yield "TY", _RIS_TYPES.get(item["type"], "GEN")
    yield "ID", item["id"]
    for tag, role in (("AU", "author"), ("A2", "recipient")):
        for person in item.get(role, ()):
            yield tag, _ris_person(person)
    yield "TI", item.get("title", "")
    if issued := day_of(item.get("issued")):
        yield "PY", f"{issued[0]:04}"
        if len(issued) > 1:
            yield "DA", _ris_day(issued)
    if accessed := day_of(item.get("accessed")):
        yield "Y2", _ris_day(accessed)
    fields = (("T2", "container-title"), ("SP", "page"), ("M3", "genre"), ("UR", "URL"),
              ("DB", "archive"), ("CN", "call-number"))  # fmt: skip
    for tag, name in fields:
        if value := item.get(name):
            yield tag, value
    for keyword in filter(None, item.get("keyword", "").split(", ")):
        yield "KW", keyword
    yield "ER", ""


def _ris_day(day: tuple[int, ...]) -> str:
    """``2024/02/01``; the slashes stay where a part is not known: ``2024/02/``."""
    written = [f"{part:0{width}}" for part, width in zip(day, (4, 2, 2), strict=False)]
    return "/".join([*written, *[""] * (3 - len(written))])


def _ris_person(person: Name) -> str:
    if "literal" in person:
        return person["literal"]
    family = f"{person.get('non-dropping-particle', '')} {person['family']}".strip()
    return ", ".join(part for part in (family, person.get("given"), person.get("suffix")) if part)
