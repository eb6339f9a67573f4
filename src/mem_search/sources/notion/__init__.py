"""The source `notion`: pages and databases of Notion that a token may read, over its API.

Off until ``MEM_SEARCH_NOTION_TOKEN`` has the token of an integration; what is shared with it is
read. A page becomes a note with the id that Notion gave it.

Each reading lists everything, a request for a hundred pages, and reads the blocks of those that
were edited since. The cursor has for each page when it was edited, nothing where that was in the
minute of the reading: Notion's times are whole minutes. The search of Notion may lack a page for a
while, so one that is not listed is asked for before it counts as deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mem_search.errors import InputError, SourceError
from mem_search.extractors.markdown import kept
from mem_search.model import Batch, Draft, LedgerEntry, Link, Location
from mem_search.model.ingest import unread_of, with_unread
from mem_search.settings import Settings
from mem_search.sources.base import BaseSource, BatchBuilder, guarded
from mem_search.sources.conversations import moment
from mem_search.sources.notion.blocks import Text, properties, text_of, written
from mem_search.text.dates import now_ms

if TYPE_CHECKING:  # a slow library
    from mem_search.sources.notion.client import Notion

NAME: Final = "notion"
PLACE: Final = "notion://workspace"

_POLLED: Final = 600.0
"""Seconds between two readings: each lists everything."""
_MINUTE_MS: Final = 60_000
_MAX_FOLDERS: Final = 20
"""Pages above a page that its folder names."""
_DATABASE: Final = " database"


class NotionPages(BaseSource):
    """The only location is ``notion://workspace``: what the token reads. Progress is in pages."""

    name = NAME
    follows = True
    schemes = (NAME,)

    def locate(self, path: str) -> Location:
        """Raises InputError for another URL, or a path."""
        if path.rstrip("/").lower() not in ("notion:", PLACE):
            raise InputError(f"Notion is written {PLACE}", field="path")
        return Location(NAME, PLACE)

    def pause(self, location: Location) -> float:
        return _POLLED

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Pages that are new, edited or gone; nothing when none are.

        Raises SourceError without a token, and where Notion does not answer.
        """
        if location.path != PLACE:
            raise SourceError(f"{location.path} is no place of Notion; write {PLACE}")
        settings = Settings.read(os.environ)
        if not settings.notion_token:
            raise SourceError(
                "no token is given for Notion; make an integration there, share pages with it, and"
                " set MEM_SEARCH_NOTION_TOKEN"
            )
        from mem_search.sources.notion.client import Notion  # a slow library

        api = Notion(settings.notion_url, settings.notion_token, settings.fetch_allow)
        yield from _Reading(api, cursor).batches()


@dataclass
class _Reading:
    """One reading of everything that is shared with the token."""

    api: Notion
    cursor: Mapping[str, Any]
    builder: BatchBuilder = field(default_factory=BatchBuilder)
    done: int = 0

    def __post_init__(self) -> None:
        self.known: dict[str, str] = dict(self.cursor.get("pages", {}))

    def batches(self) -> Iterator[Batch]:
        listed = self._listed()
        now = now_ms()
        changed = [each for page, each in listed.items() if self.known.get(page) != _mark(each)]
        missing = [page for page in self.known if page not in listed]
        self.builder.total = len(changed) + len(missing)
        try:
            for entry in changed:
                self._read(entry, listed, now)
                if self.builder.is_full:
                    yield self._batch()
            for page in missing:
                self._ask_for(page)
                if self.builder.is_full:
                    yield self._batch()
        except SourceError:
            if self.builder:
                yield self._batch()  # the next reading goes on after these
            raise
        if self.builder or self.known != self.cursor.get("pages", {}):
            yield self._batch()

    def _batch(self) -> Batch:
        return self.builder.build({"pages": dict(self.known)}, self.done)

    def _listed(self) -> dict[str, dict[str, Any]]:
        """Id → page or database: what the search gives, and the rows of each database."""
        from mem_search.sources.notion.client import Refused

        order = {"sort": {"direction": "descending", "timestamp": "last_edited_time"}}
        listed = {_id(each): each for each in self.api.listed("/v1/search", order) if _id(each)}
        for database in [each for each in listed.values() if each.get("object") == "database"]:
            if _is_gone(database):
                continue
            try:
                rows = list(self.api.listed(f"/v1/databases/{_id(database)}/query", {}))
            except Refused as error:  # such as one of several sources: its rows may be listed
                self.builder.fail(_title(database) or _id(database), error.message)
                continue
            listed.update((_id(row), row) for row in rows if _id(row))
        return listed

    def _read(
        self, entry: Mapping[str, Any], listed: Mapping[str, Mapping[str, Any]], now: int
    ) -> None:
        from mem_search.sources.notion.client import Gone

        page = _id(entry)
        self.done += 1
        if _is_gone(entry):
            self._forget(page, "it is in the trash of Notion")
            return
        try:
            made = next(guarded(page, lambda: [_draft(entry, _said(entry, self.api), listed)]))
        except Gone:
            self._forget(page, "it is not shared with the token any more")
            return
        edited = moment(str(entry.get("last_edited_time")))
        was_known = page in self.known
        self.known[page] = _mark(entry, settled=edited is not None and edited + _MINUTE_MS <= now)
        if isinstance(made, LedgerEntry):
            self.builder.note(made)
        elif made.text:
            self.builder.take(made, page)
            said = "; ".join(filter(None, (made.title, *unread_of(made.metadata))))
            self.builder.note(LedgerEntry(page, "taken", said, records=1))
        else:
            self.builder.leave(page, "it is empty")
            if was_known:
                self.builder.drop(page)

    def _ask_for(self, page: str) -> None:
        """A page that is not listed: it is deleted only where Notion says so."""
        from mem_search.sources.notion.client import Gone

        self.done += 1
        kind = "databases" if self.known[page].endswith(_DATABASE) else "pages"
        try:
            if not _is_gone(self.api.asked("GET", f"/v1/{kind}/{page}")):
                return
        except Gone:
            pass
        self._forget(page, "it is gone, or not shared with the token any more")

    def _forget(self, page: str, why: str) -> None:
        if self.known.pop(page, None) is not None:
            self.builder.delete(page, why)


def _id(entry: Mapping[str, Any]) -> str:
    key = entry.get("id")
    return key if isinstance(key, str) and entry.get("object") in ("page", "database") else ""


def _mark(entry: Mapping[str, Any], *, settled: bool = True) -> str:
    """For the cursor: when it was edited, if it will not be so again under the same time."""
    edited = str(entry.get("last_edited_time")) if settled else ""
    return edited + (_DATABASE if entry.get("object") == "database" else "")


def _is_gone(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("archived") or entry.get("in_trash"))


def _title(entry: Mapping[str, Any]) -> str:
    if entry.get("object") == "database":
        return written(entry.get("title")).strip()
    return properties(entry.get("properties"))[0].strip()


def _said(entry: Mapping[str, Any], api: Notion) -> Text:
    """What a page says, or what a database has."""
    if entry.get("object") != "database":
        return text_of(_id(entry), lambda block: api.listed(f"/v1/blocks/{block}/children"))
    text = Text()
    columns = entry.get("properties")
    names = ", ".join(map(str, columns)) if isinstance(columns, dict) else ""
    text.lines = [line for line in (written(entry.get("description"), text), names) if line]
    return text


def _unread(text: Text) -> list[str]:
    return [f"{what}: {count}, which is not read" for what, count in text.unread.items()]


def _folder(entry: Mapping[str, Any], listed: Mapping[str, Mapping[str, Any]]) -> str:
    """The titles of the pages and databases above, the outermost first."""
    names: list[str] = []
    for _ in range(_MAX_FOLDERS):
        parent = entry.get("parent")
        above = parent.get(str(parent.get("type"))) if isinstance(parent, dict) else None
        if not isinstance(above, str) or above not in listed:
            break
        entry = listed[above]
        names.append(_title(entry))
    return "/".join(filter(None, reversed(names)))


def _draft(entry: Mapping[str, Any], text: Text, listed: Mapping[str, Mapping[str, Any]]) -> Draft:
    _, values, tags = properties(entry.get("properties"))
    title, folder, url = _title(entry), _folder(entry, listed), entry.get("url")
    metadata = {**kept(values), **({"folder": folder} if folder else {})}
    return Draft(
        kind="note",
        source=NAME,
        source_id=_id(entry),
        text=text.markdown or title,
        title=title,
        created_at=moment(str(entry.get("created_time"))),
        updated_at=moment(str(entry.get("last_edited_time"))),
        url=url if isinstance(url, str) else "",
        tags=tuple(dict.fromkeys(tags)),
        links=tuple(Link(page, "mentions") for page in text.mentions),
        metadata=with_unread(metadata, _unread(text)),
    )
