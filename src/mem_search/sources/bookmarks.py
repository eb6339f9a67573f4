"""The source `bookmarks`: bookmarks of browsers become web pages.

It reads the HTML file that every browser exports, the file ``Bookmarks`` of Chrome and its
relatives, and ``places.sqlite`` of Firefox. A page that is marked twice is one record.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import fields, items, moment, text
from mem_search.sources.databases import UnreadableDatabase, copied_database, foreign_database
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text.counted import counted
from mem_search.text.json_reading import loads

NAME: Final = "bookmarks"

_NETSCAPE: Final = b"<!doctype netscape-bookmark-file"
_MAX_FILE_BYTES: Final = 500 * 2**20
_TOKEN: Final = pattern(r"<(/?)(a|h3|dl|dd|dt)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE: Final = pattern(r'(\w+)="([^"]*)"')
_SINCE_1601: Final = 11_644_473_600
"""Seconds from 1601, where Chrome's clock begins, to 1970."""

_ROOTS: Final = ("", "toolbar", "menu", "unfiled", "mobile", "tags", "bookmarks bar",
                 "bookmarks toolbar", "other bookmarks", "mobile bookmarks")  # fmt: skip
_FIREFOX: Final = """
    select b.id, b.type, b.parent, b.title, b.dateAdded, p.url, p.title, p.description
    from moz_bookmarks b left join moz_places p on p.id = b.fk order by b.id
"""
_TABLES: Final = ("moz_bookmarks", "moz_places")
_TAGS: Final = "tags________"


@dataclass(slots=True)
class _Page:
    """A bookmark; ``at`` is when it was made, in seconds since 1970."""

    url: str
    title: str = ""
    at: float | None = None
    folders: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    about: str = ""


class Bookmarks(WholeFiles):
    """The source id is the address. A bookmark that is removed keeps its record."""

    name = NAME
    follows = True
    file_format = FileFormat((".html", ".json", ".sqlite"))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() in (".html", ".htm"):
            return _is_export(head(path, 200))
        if path.name == "Bookmarks":
            return b'"roots"' in head(path, 4096)
        return path.name == "places.sqlite"

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        path, name = file.path, file.name
        if head(path, 200).startswith(b"SQLite format 3"):
            bookmarks: Iterable[_Page] = _of_firefox(path)
        else:
            content = read_regular_file(path, _MAX_FILE_BYTES).decode("utf-8", "replace")
            is_export = _is_export(content[:200].encode())
            bookmarks = _of_export(content) if is_export else _of_chrome(fields(loads(content)))
        pages: dict[str, _Page] = {}
        others = 0
        for page in bookmarks:
            if not page.url.lower().startswith(("http://", "https://")):
                others += 1
            elif (known := pages.setdefault(page.url, page)) is not page:
                known.folders += [folder for folder in page.folders if folder not in known.folders]
                known.tags += [tag for tag in page.tags if tag not in known.tags]
        yield from map(_draft, pages.values())
        if others:
            why = f"{counted(others, 'bookmark')} of no web page (javascript:, about:, file:, ...)"
            yield LedgerEntry(f"{name}:others", "left", why)


def _is_export(start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_NETSCAPE)


def _draft(page: _Page) -> Draft:
    folders = [folder for folder in page.folders if folder]
    lines = [page.title, page.about, *(f"Bookmark folder: {each}" for each in folders), page.url]
    metadata: dict[str, Any] = {"folders": folders} if folders else {}
    return Draft(
        kind="website",
        source=NAME,
        source_id=page.url,
        text="\n\n".join(filter(None, lines)),
        title=page.title or page.url,
        created_at=moment(page.at),
        url=page.url,
        tags=tuple(page.tags),
        metadata=metadata,
    )


def _named(folders: list[str]) -> list[str]:
    """The path of folders as one name, without those that every browser has."""
    return [" / ".join(name for name in folders if name.strip().lower() not in _ROOTS)]


def _of_export(page: str) -> Iterator[_Page]:
    """The HTML of Netscape, which no browser closes properly: only its tags count."""
    folders: list[str] = []
    heading, page_open = "", _Page("")
    marks = list(_TOKEN.finditer(page))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        end = following.start() if following else len(page)
        words = " ".join(html.unescape(page[mark.end() : end]).split())
        given = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(mark[3])}
        match mark[1] + mark[2].lower():
            case "h3":
                heading = words
            case "dl":
                folders.append(heading)
                heading = ""
            case "/dl" if folders:
                folders.pop()
            case "a":
                if page_open.url:
                    yield page_open
                tags = [tag.strip() for tag in given.get("tags", "").split(",") if tag.strip()]
                at = _number(given.get("add_date"))
                page_open = _Page(given.get("href", ""), words, at, _named(folders), tags)
            case "dd" if not page_open.about:
                page_open.about = words
    if page_open.url:
        yield page_open


def _number(value: object) -> float | None:
    """Seconds from the digits of ``value``; some browsers write milliseconds or microseconds."""
    if not isinstance(value, str | int) or not str(value).isdecimal() or len(str(value)) > 20:
        return None
    seconds = float(value)
    while seconds > 10**11:
        seconds /= 1000
    return seconds or None


def _of_chrome(stored: Mapping[str, Any]) -> Iterator[_Page]:
    """A tree of folders. Times are microseconds since 1601."""
    waiting = [(root, [""]) for root in fields(stored.get("roots")).values()]
    while waiting:
        node, folders = waiting.pop()
        node = fields(node)
        name = text(node.get("name"))
        if node.get("type") == "url":
            added = text(node.get("date_added"))
            at = int(added) / 1e6 - _SINCE_1601 if added.isdecimal() and added != "0" else None
            yield _Page(text(node.get("url")), name, at, _named(folders))
        children = items(node.get("children"))
        waiting += [(child, [*folders, name]) for child in reversed(children)]


def _of_firefox(path: Path) -> list[_Page]:
    try:
        with copied_database(path) as copy, foreign_database(copy, _TABLES) as store:
            rows = store.rows(_FIREFOX)
            guids: dict[Any, Any] = dict(store.rows("select guid, id from moz_bookmarks"))
    except UnreadableDatabase as error:
        raise ValueError(f"it is not a bookmarks file of Firefox: {error}") from error
    folders = {row[0]: (row[2], text(row[3])) for row in rows if row[1] == 2}
    tags = {number for number, (parent, _) in folders.items() if parent == guids.get(_TAGS)}
    pages: dict[str, _Page] = {}
    for _, sort, parent, title, added, url, page_title, about in rows:
        if sort != 1 or not isinstance(url, str):
            continue
        page = pages.setdefault(url, _Page(url))
        page.title = page.title or text(title) or text(page_title)
        page.about = page.about or text(about)
        if parent in tags:
            page.tags.append(folders[parent][1])
        else:
            page.folders += _named(_path_of(parent, folders))
        at = added / 1e6 if isinstance(added, int) else None
        page.at = at if page.at is None else page.at
    return list(pages.values())


def _path_of(folder: object, folders: Mapping[Any, tuple[Any, str]]) -> list[str]:
    names: list[str] = []
    while folder in folders and len(names) < 50:
        folder, name = folders[folder]
        names.append(name)
    return names[::-1]
