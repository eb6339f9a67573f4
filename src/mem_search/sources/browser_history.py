"""The source `browser-history`: pages that were visited: `History` of Chrome and its relatives,
`places.sqlite` of Firefox, `History.db` of Safari.

A page is one record, whose date is that of the last visit. The browser's file is copied first,
because the browser locks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.sources.databases import UnreadableDatabase, copied_database, foreign_database
from mem_search.sources.whole_files import WholeFile, WholeFiles, head

NAME: Final = "browser-history"

MAX_PAGES: Final = 200_000
"""Pages of one browser, the newest first."""


class _Browser(NamedTuple):
    """``since`` is where its clock begins, in seconds from 1970; ``unit`` a second's parts."""

    name: str
    tables: tuple[str, ...]
    sql: str
    unit: float
    since: float


_LIMIT: Final = " order by 4 desc limit ?"
_BROWSERS: Final = {
    "History": _Browser("Chrome", ("urls",), "select url, title, visit_count, last_visit_time"
                        " from urls where hidden = 0", 1e6, -11_644_473_600),
    "places.sqlite": _Browser("Firefox", ("moz_places",), "select url, title, visit_count,"
                              " last_visit_date from moz_places where visit_count > 0",
                              1e6, 0),
    "History.db": _Browser(
        "Safari", ("history_items", "history_visits"), "select i.url, v.title, i.visit_count,"
        " max(v.visit_time) from history_items i join history_visits v on v.history_item = i.id"
        " group by i.id", 1, 978_307_200),
}  # fmt: skip


class BrowserHistory(WholeFiles):
    """The source id is the address."""

    name = NAME
    file_format = FileFormat((".sqlite", ".db"))

    def recognises(self, path: Path) -> bool:
        return path.name in _BROWSERS and head(path, 15) == b"SQLite format 3"

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        rows, browser = _rows(file)
        others = 0
        seen: set[str] = set()
        for url, title, visits, at in rows[:MAX_PAGES]:
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                others += 1
            elif url not in seen:
                seen.add(url)
                named = title.strip() if isinstance(title, str) else ""
                seconds = (
                    at / browser.unit + browser.since
                    if isinstance(at, int | float) and at
                    else None
                )
                yield Draft(
                    kind="website",
                    source=NAME,
                    source_id=url,
                    text="\n".join(filter(None, (named, url))),
                    title=named or url,
                    created_at=None if seconds is None else round(seconds * 1000),
                    url=url,
                    metadata={"visits": visits, "browser": browser.name},
                )
        if others:
            yield LedgerEntry(
                f"{file.name}:others", "left", f"{others} address(es) are no web pages"
            )
        if len(rows) > MAX_PAGES:
            why = f"it has more than {MAX_PAGES:,} pages; the newest are read"
            yield LedgerEntry(f"{file.name}:older", "left", why)


def _rows(file: WholeFile) -> tuple[list[tuple[object, ...]], _Browser]:
    """The pages, and the browser whose tables they are in: an upload may have any name."""
    named = _BROWSERS.get(Path(file.name).name)
    reason = ""
    with copied_database(file.path) as copy:
        for browser in [named] if named else _BROWSERS.values():
            try:
                with foreign_database(copy, browser.tables) as store:
                    return list(store.rows(browser.sql + _LIMIT, MAX_PAGES + 1)), browser
            except UnreadableDatabase as error:
                reason = str(error)
    raise ValueError(f"it is not a browser's history: {reason}")
