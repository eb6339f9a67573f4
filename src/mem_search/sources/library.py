"""The source `library`: libraries of reference managers: BibTeX, RIS, CSL JSON, `zotero.sqlite`.

Each work is a report with what a citation of it needs; its abstract and notes are its text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import fields, items, moment, text
from mem_search.sources.databases import UnreadableDatabase, copied_database, foreign_database
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text import charsets
from mem_search.text.json_reading import loads

NAME: Final = "library"

_MAX_BYTES: Final = 100 * 2**20
_PIECE: Final = pattern(r'"([^"]*)"|\{([^{}]*)\}')
_JOINED: Final = pattern(r'\s*(?:"[^"]*"|\{[^{}]*\})(?:\s*#\s*(?:"[^"]*"|\{[^{}]*\}))+\s*')
_ENCLOSED: Final = pattern(r'\A(?:"([^"]*)"|\{([^{}]*)\})\Z')
_DAY: Final = pattern(r"([0-9]{4})(?:[-/]([0-9]{1,2}))?(?:[-/]([0-9]{1,2}))?(?![0-9])")
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_TAG: Final = pattern(r"<[^<>]{0,500}>")
_BIB: Final = pattern(rb"^\s{0,8}@\s?[A-Za-z]{3,30}\s?[{(]", re.MULTILINE)
_RIS: Final = pattern(r"^([A-Z][A-Z0-9])  - ?(.*)$")
_NAMES: Final = {
    "title": ("title", "TI", "T1", "CT"),
    "authors": ("author", "editor", "AU", "A1", "A2"),
    "date": ("date", "year", "issued", "PY", "Y1", "DA"),
    "venue": ("journal", "journaltitle", "booktitle", "container-title", "publicationTitle",
              "bookTitle", "proceedingsTitle", "T2", "JO", "JF", "JA", "BT"),
    "publisher": ("publisher", "institution", "school", "PB"),
    "volume": ("volume", "VL"), "issue": ("number", "issue", "IS"),
    "pages": ("pages", "page", "SP"),
    "doi": ("doi", "DOI", "DO"), "isbn": ("isbn", "ISBN", "SN"), "url": ("url", "URL", "UR", "L1"),
    "abstract": ("abstract", "abstractNote", "AB", "N2"), "note": ("note", "annote", "N1"),
    "tags": ("keywords", "keyword", "KW"), "added": ("dateAdded", "timestamp", "date-added"),
}  # fmt: skip
"""What a work has, by the names of the formats; the first that is there counts."""

_ZOTERO: Final = ("items", "itemTypes", "itemData", "itemDataValues", "fields")
_ZOTERO_TOO: Final = ("creators", "itemCreators", "tags", "itemTags", "itemNotes", "deletedItems",
                      "collections", "collectionItems")  # fmt: skip
_NO_WORK: Final = ("attachment", "note", "annotation")


@dataclass(slots=True)
class _Work:
    """``said`` has the values by the names of the format."""

    key: str
    kind: str
    said: dict[str, list[str]] = field(default_factory=dict)

    def all(self, name: str) -> list[str]:
        values = (self.said.get(each) for each in _NAMES[name])
        return next((each for each in values if each), [])

    def one(self, name: str) -> str:
        return (self.all(name) or [""])[0]


class Library(WholeFiles):
    """The source id is the key of the work in its library."""

    name = NAME
    follows = True
    file_format = FileFormat(
        (".bib", ".ris", ".sqlite"),
        ("application/x-bibtex", "application/x-research-info-systems"),
    )  # fmt: skip

    def recognises(self, path: Path) -> bool:
        match path.suffix.lower():
            case ".bib":
                return bool(_BIB.search(head(path, 65_536)))
            case ".ris":
                return b"TY  -" in head(path, 4096)
            case ".sqlite":
                return path.name == "zotero.sqlite"
            case ".json":
                start = head(path, 4096).lstrip()
                is_list = start.startswith(b"[") and b'"type"' in start and b'"id"' in start
                return is_list and (b'"issued"' in start or b'"container-title"' in start)
        return False

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        seen: dict[str, int] = {}
        stated = count = 0
        if head(file.path, 15) == b"SQLite format 3":
            works: Iterator[_Work | LedgerEntry] = _of_zotero(file.path)
        else:
            content = charsets.decoded(read_regular_file(file.path, _MAX_BYTES))
            works, stated = _works(content.replace("\r\n", "\n"), file.name)
        for work in works:
            if isinstance(work, LedgerEntry):
                yield work
                continue
            count += 1
            work.key = work.key or _hash(work.one("title"), *work.all("authors"))
            seen[work.key] = number = seen.get(work.key, 0) + 1
            work.key = work.key if number == 1 else f"{work.key}#{number}"
            if draft := _draft(work):
                yield draft
            else:
                yield LedgerEntry(f"{file.name}:{work.key}", "left", "it has no title and no text")
        if stated > count:
            why = f"{stated - count} of {stated} works were not read: they are damaged"
            yield LedgerEntry(f"{file.name}:count", "failed", why)


def _hash(*said: str) -> str:
    return hashlib.blake2b("\n".join(said).encode(), digest_size=12).hexdigest()


def _works(content: str, name: str) -> tuple[Iterator[_Work | LedgerEntry], int]:
    """The works of a text, and how many of them a second count finds."""
    if content.lstrip("\ufeff \n").startswith("["):
        listed = items(loads(content.lstrip("\ufeff")))
        return map(_of_csl, map(fields, listed)), len(listed)
    if "\nTY  -" in f"\n{content.lstrip(chr(0xFEFF))}":
        return _of_ris(content), f"\n{content}".count("\nTY  -")
    marks = re.findall(r"(?m)^\s{0,8}@\s?(\w+)\s?[{(]", content)
    return _of_bibtex(content, name), sum(
        mark.lower() not in ("comment", "string", "preamble") for mark in marks
    )


def _of_bibtex(content: str, name: str) -> Iterator[_Work | LedgerEntry]:
    import bibtexparser
    from pylatexenc.latex2text import LatexNodes2Text

    plain = LatexNodes2Text(math_mode="text", keep_braced_groups=False)

    def shown(value: str) -> str:
        try:
            words = plain.latex_to_text(value, tolerant_parsing=True)
        except (ValueError, IndexError, RecursionError):
            words = value
        return " ".join(words.split())

    library = bibtexparser.parse_string(content)
    for block in library.failed_blocks:
        same = getattr(block, "ignore_error_block", None)
        if same is not None and hasattr(same, "fields"):  # a key that stands twice
            for each in same.fields:  # which has its braces or quotes still
                each.value = _ENCLOSED.sub(r"\1\2", str(each.value))
            yield _bibtex(same, shown)
        else:
            item, why = f"{name}:{(block.start_line or 0) + 1}", block.error
            why = getattr(why, "abort_reason", "") or str(why)
            yield LedgerEntry(item, "failed", f"the entry cannot be read: {why}")
    for entry in library.entries:
        yield _bibtex(entry, shown)


def _bibtex(entry: Any, shown: Any) -> _Work:
    said: dict[str, list[str]] = {}
    for each in entry.fields:
        key, value = each.key.lower(), _joined(str(each.value))
        if key in ("author", "editor"):
            said[key] = [shown(part) for part in re.split(r"\s+and\s+", value)]
        elif key in ("keywords", "keyword"):
            said[key] = [shown(part) for part in re.split("[,;]", value)]
        else:
            said[key] = [value.strip("{} ") if key in ("url", "doi") else shown(value)]
    return _Work(entry.key, entry.entry_type.lower(), said)


def _joined(value: str) -> str:
    """A value that is put together of several texts: ``"Harbour " # "Journal"``."""
    return "".join(a or b for a, b in _PIECE.findall(value)) if _JOINED.fullmatch(value) else value


def _of_ris(content: str) -> Iterator[_Work | LedgerEntry]:
    work: _Work | None = None
    last = ""
    for line in content.split("\n"):
        match = _RIS.match(line.lstrip("\ufeff"))
        if match is None:
            if work and last and line.strip():  # a value goes on
                work.said[last][-1] += f" {line.strip()}"
            continue
        tag, value = match[1], match[2].strip()
        if tag == "TY":
            if work:
                yield work
            work = _Work("", value.lower())
        elif tag == "ER":
            if work:
                yield work
            work = None
        elif work and value:
            if tag == "ID":
                work.key = value
            work.said.setdefault(tag, []).append(value)
            last = tag
    if work:
        yield work


def _of_csl(item: Mapping[str, Any]) -> _Work:
    work = _Work(str(item.get("id") or ""), text(item.get("type")))
    for key, value in item.items():
        if key in ("author", "editor"):
            people = map(fields, items(value))
            work.said[key] = [
                text(p.get("literal")) or ", ".join(filter(None, (text(p.get("family")),
                                                                  text(p.get("given")))))
                for p in people
            ]  # fmt: skip
        elif key == "issued":
            parts = items((items(fields(value).get("date-parts")) or [[]])[0])
            day = "-".join(f"{int(part):02}" for part in parts if str(part).isdecimal())
            work.said[key] = [day or text(fields(value).get("raw"))]
        elif isinstance(value, str | int):
            work.said[key] = [str(value)]
    return work


def _of_zotero(path: Path) -> Iterator[_Work | LedgerEntry]:
    try:
        with copied_database(path) as copy, foreign_database(copy, _ZOTERO, _ZOTERO_TOO) as store:
            has = store.columns.keys()
            works = {
                number: _Work(text(key), text(kind), {"dateAdded": [text(added)]})
                for number, key, kind, added in store.rows(
                    "select i.itemID, i.key, t.typeName, i.dateAdded from items i"
                    " join itemTypes t on t.itemTypeID = i.itemTypeID order by i.itemID")
                if text(kind) not in _NO_WORK
            }  # fmt: skip
            if "deletedItems" in has:
                for (number,) in store.rows("select itemID from deletedItems"):
                    works.pop(number, None)
            asked = [("select d.itemID, f.fieldName, v.value from itemData d join fields f"
                      " on f.fieldID = d.fieldID join itemDataValues v on v.valueID = d.valueID"
                      " order by 1, 2")]  # fmt: skip
            if {"creators", "itemCreators"} <= has:
                asked.append("select i.itemID, 'author', case when c.firstName = '' then c.lastName"
                             " else c.lastName || ', ' || c.firstName end from itemCreators i"
                             " join creators c on c.creatorID = i.creatorID"
                             " order by i.itemID, i.orderIndex")  # fmt: skip
            if {"tags", "itemTags"} <= has:
                asked.append("select i.itemID, 'keywords', t.name from itemTags i join tags t"
                             " on t.tagID = i.tagID order by 1, 3")  # fmt: skip
            if "itemNotes" in has:
                asked.append("select parentItemID, 'note', note from itemNotes"
                             " where parentItemID is not null order by 1, itemID")  # fmt: skip
            for sql in asked:
                for number, name, value in store.rows(sql):
                    if number in works and value is not None:
                        works[number].said.setdefault(text(name), []).append(str(value))
    except UnreadableDatabase as error:
        raise ValueError(f"it is not a Zotero library: {error}") from error
    for work in works.values():
        if dates := work.said.get("date"):  # 2019-05-00 May 2019
            work.said["date"] = [dates[0].partition(" ")[0].replace("-00", "")]
        yield work


def _draft(work: _Work) -> Draft | None:
    title = _plain(work.one("title"))
    notes = [_plain(note) for note in work.all("note")]
    abstract = _plain(work.one("abstract"))
    authors = [each for each in work.all("authors") if each.strip()]
    tags = [tag.strip() for each in work.all("tags") for tag in each.split(";") if tag.strip()]
    if not title and not abstract and not any(notes):
        return None
    venue = ", ".join(filter(None, (work.one("venue"), work.one("publisher"), work.one("date"))))
    doi = work.one("doi").removeprefix("https://doi.org/")
    url = work.one("url") or (f"https://doi.org/{doi}" if doi else "")
    lines = [title, "; ".join(authors), venue, abstract, *notes,
             f"https://doi.org/{doi}" if doi else url]  # fmt: skip
    metadata: dict[str, Any] = {
        "type": work.kind, "authors": authors, "published": work.one("date").strip("/"),
        "journal": work.one("venue"), "publisher": work.one("publisher"),
        "volume": work.one("volume"), "issue": work.one("issue"), "pages": work.one("pages"),
        "doi": doi, "isbn": work.one("isbn"), "citation_key": work.key,
    }  # fmt: skip
    return Draft(
        kind="report",
        source=NAME,
        source_id=work.key,
        text="\n\n".join(dict.fromkeys(filter(None, lines))),
        title=title,
        created_at=_published(work),
        updated_at=moment(work.one("added")),
        url=url if "://" in url else "",
        tags=tuple(dict.fromkeys(tags)),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _published(work: _Work) -> int | None:
    """When it was published: the first day of a year or month, as most works state no more."""
    if (day := _DAY.match(said := work.one("date"))) is None:
        return moment(said)
    named = "".join(work.said.get("month", []))[:3].lower()
    month = _MONTHS.index(named) + 1 if named in _MONTHS else int(named) if named.isdecimal() else 1
    return moment(f"{day[1]}-{int(day[2] or month):02}-{int(day[3] or 1):02}")


def _plain(words: str) -> str:
    """A note of Zotero is HTML; titles have a little of it."""
    return " ".join(unescape(_TAG.sub(" ", words)).split()) if "<" in words else words.strip()
