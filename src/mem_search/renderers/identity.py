"""What a person recognises a record by: its kind as people say it, its title and its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from mem_search.model import Record, SearchPage
from mem_search.patterns import pattern
from mem_search.records.canonical_text import listed
from mem_search.records.registry import installed_kinds
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.safe_text import one_line
from mem_search.text import dates
from mem_search.text.addresses import addresses
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import WEEKDAYS
from mem_search.text.languages import LANGUAGES

_SAID: Final = {
    "email": "Mail", "session_summary": "Session", "user_prompt": "Prompt", "website": "Web page",
    "conversation": "Chat",
}  # fmt: skip
_OF_TYPE: Final = {
    "bugfix": "Fix", "feature": "Feature", "refactor": "Refactor", "change": "Change",
    "discovery": "Finding", "decision": "Decision",
}  # fmt: skip
_FORMATS: Final = {
    "docx": "Word", "doc": "Word", "odt": "Text", "xlsx": "Excel", "xls": "Excel",
    "pptx": "Slides", "ppt": "Slides", "md": "Markdown", "txt": "Text", "eml": "Mail",
}  # fmt: skip
_PICTURES: Final = frozenset("png jpg jpeg gif tif tiff bmp webp heic".split())
_SAID_AS_WRITTEN: Final = frozenset("pdf epub html csv".split())

_PATHS: Final = ("path", "file", "filename")
"""Metadata with the path of what a record was read from, the surest first."""

_DAYS: Final = frozenset(
    each[:length]
    for said in (
        *MONTHS, *WEEKDAYS,
        *(word for language in LANGUAGES if language.times
          for word in re.split(r"[ |]", f"{language.times.months} {language.times.weekdays}")),
    )
    for each in [said.lower()]
    for length in (len(each), 3)
)  # fmt: skip
"""Names of months and days of the week, whole and by three letters."""

_SAY_NOTHING: Final = frozenset(
    "agenda changelog chapter contents continue daily diary doc document draft file general hello"
    " hi home ideas image inbox index info journal kapitel license links list log main meeting memo"
    " minutes misc new no note notes notiz notizen ok overview page part photo protokoll readme"
    " scan scratch screenshot seite session summary tasks temp test text thanks todo todos"
    " unbenannt unnamed untitled update week work yes subject betreff sans titre sin título without"
    " title".split()
)  # fmt: skip
_NUMBERED: Final = pattern(
    r"(?:img|dsc|dscn|pxl|vid|mvi|scan|screenshot|image|photo)[-_ ]?[\d_ -]*"
)
_HEX: Final = pattern(r"\b(?=[a-f-]*\d)[0-9a-f]{6,}(?:-[0-9a-f]+)*\b|\bagent\b")
"""A hash, a UUID: what programs name things by."""
_FILE_NAME: Final = pattern(r"[\w.+@()-]+\.[a-z0-9]{1,5}", re.IGNORECASE)
_ANSWER: Final = pattern(r"^(?:(?:re|fwd?|aw|wg|sv|tr)\s*:\s*)+", re.IGNORECASE)
_WORDS: Final = pattern(r"[^\W_]+")
_BUMP: Final = pattern(r"\b(?:bump|bumps|update|upgrade|pin)\b.*\d", re.IGNORECASE)
_VERSION: Final = pattern(r"(?:\bto\b|->|→)\s*v?\d+(?:\.\d+)*", re.IGNORECASE)


def kind_of(record: Record) -> str:
    """``Fix``, ``Commit``, ``PDF``, ``Mail``: one word for a record."""
    if record.source == "git" and record.metadata.get("commit"):
        return "Commit"
    if said := _OF_TYPE.get(str(record.metadata.get("type", "")).lower()):
        return said
    if record.kind == "file":
        ending = PurePosixPath(_path(record) or record.title).suffix[1:].lower()
        if ending in _PICTURES:
            return "Picture"
        return ending.upper() if ending in _SAID_AS_WRITTEN else _FORMATS.get(ending, "File")
    return _SAID.get(record.kind) or installed_kinds().get(record.kind).label


def title_of(record: Record, display: DisplayOptions) -> tuple[str, str]:
    """The title, and before it what it says nothing without: a folder, a project; else empty."""
    title = display.kinds(record.kind).title(record)
    if not says_nothing(title):
        return "", title
    return _last_part(place_of(record)), title


def says_nothing(title: str) -> bool:
    """Whether a title needs its place: a day, a word such as ``index``, the name of a file."""
    bare = _ANSWER.sub("", one_line(title).strip(' "“”«»')).casefold()
    stem = bare.rpartition(".")[0] if _FILE_NAME.fullmatch(bare) else bare
    words = _WORDS.findall(_HEX.sub("", stem))
    if _FILE_NAME.fullmatch(bare) or _NUMBERED.fullmatch(stem) or len(stem) < 3:
        return True
    return all(word.isdigit() or word in _DAYS or word in _SAY_NOTHING or _is_ordinal(word)
               for word in words)  # fmt: skip


def _is_ordinal(word: str) -> bool:
    return word[:-2].isdigit() and word[-2:] in ("st", "nd", "rd", "th")


def names_a_day(record: Record) -> bool:
    """Whether the title is the day that the record is of: a daily note."""
    words = _WORDS.findall(record.title.casefold())
    is_day = all(word.isdigit() or word in _DAYS or _is_ordinal(word) for word in words)
    return is_day and any(map(str.isdigit, record.title))


def place_of(record: Record) -> str:
    """Where a person looks for it: the sender of a mail, the domain of a page, the folder of a file
    as ``vault/Daily``, else the project.
    """
    if record.kind == "email":
        senders = addresses(listed(record.metadata.get("from")))
        return next((name or address for name, address in senders if name or address), "")
    if record.kind == "website" and (host := _host(record.url)):
        return host
    folders: tuple[str, ...] = PurePosixPath(_path(record)).parent.parts
    if folders:
        at = len(folders) - 2
        if record.project in folders:
            at = len(folders) - 1 - folders[::-1].index(record.project)
        return "/".join(folders[max(at, 1 if folders[0] == "/" else 0) :])
    return record.project or record.source


def place_beside(record: Record, before: str) -> str:
    """``place_of`` without what ``title_of`` has put ``before`` the title."""
    place = place_of(record)
    return place[: -len(before)].rstrip("/") if before and place.endswith(before) else place


def _last_part(place: str) -> str:
    return place.rpartition("/")[2]


def _path(record: Record) -> str:
    return next((path for name in _PATHS if isinstance(path := record.metadata.get(name), str)), "")


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def original_of(record: Record) -> str:
    """The path or the address of the original; empty where there is none."""
    return _path(record) or record.url


def people_of(record: Record) -> Iterator[tuple[str, str]]:
    """Sender, recipients and attachments of a mail; the author and the hash of a commit."""
    labels = ["from", "to", "cc", "attachments"] if record.kind == "email" else []
    if kind_of(record) == "Commit":
        labels = ["author", "commit"]
    for name in labels:
        if said := ", ".join(listed(record.metadata.get(name))):
            yield name.capitalize(), said


def table(page: SearchPage, display: DisplayOptions) -> str:
    """A line a result for pipes: ref, kind, time, place, title and span, with tabs between."""
    rows = (
        (
            str(result.record.ref),
            kind_of(result.record),
            dates.to_the_minute(result.record.created_at, display.tz),
            place_of(result.record),
            " › ".join(filter(None, title_of(result.record, display))),
            result.snippet.text + (f" (page {result.found_on})" if result.found_on else ""),
        )
        for result in page.results
    )
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)


def alike(record: Record) -> object:
    """What is equal for records that a person takes for the same: ten bumps of dependencies in one
    project, a prompt that was given again. None for a record of which there is one.
    """
    title = one_line(record.title or record.text)
    if kind_of(record) == "Commit" and _BUMP.search(title) and _VERSION.search(title):
        return record.project, "bump"
    if record.kind in ("user_prompt", "observation"):
        return record.kind, record.project, title, one_line(record.text[:1000])
    return None
