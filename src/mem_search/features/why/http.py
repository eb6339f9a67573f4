"""``GET /api/why``: what became of a file or folder, in one sentence and in fields."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final, Literal
from unicodedata import normalize

from aiohttp import web
from pydantic import AfterValidator, Field

from mem_search.errors import InputError
from mem_search.http.core.parameters import TimeZoneParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import Location, Record
from mem_search.model.ingest import FollowedLocation, LedgerRow, unread_of
from mem_search.renderers.schema import Absent, Time, schema
from mem_search.sources import by_name, for_path
from mem_search.sources.base import BaseSource
from mem_search.sources.exclusions import IGNORE_FILE
from mem_search.sources.files import digests_of, left_to
from mem_search.sources.files.folder import look_at
from mem_search.text.counted import counted, listed
from mem_search.text.dates import to_the_minute
from mem_search.text.redaction import MARKER
from mem_search.validation import invalid_value

FILES: Final = "files"
_MAX_PARTS: Final = 1000
"""Entries of one file that are looked at."""
_MIN_ID_CHARS: Final = 8
"""Of the id of a session; shorter names of folders are no ids."""

Clock = Callable[[int], str]
"""Writes a time (ms since 1970) as the reader's clock shows it."""

_STATES: Mapping[str, PathState] = {"left": "left", "failed": "failed", "deleted": "deleted"}
_SAID: Mapping[str, str] = {
    "left": "was left out",
    "failed": "could not be read",
    "deleted": "was removed from the store",
}
_MISSING: Final = {"failed": "failed", "left": "left out", "taken": "not read whole"}

PathState = Literal["stored", "waiting", "left", "failed", "deleted", "read", "unseen"]


@schema
class WhyPath:
    """What became of a path. `read`: a place with several items, which the ledger lists."""

    path: str
    state: PathState
    sentence: str
    source: Absent[str] = None
    record: Absent[str] = None
    reason: Absent[str] = None
    at: Absent[Time] = None


def _absolute(text: str) -> str:
    path = Path(text)
    if not path.is_absolute() or "\0" in text:
        raise invalid_value("must be an absolute path on the worker's machine: /home/me/a.pdf")
    return str(path)


class WhyParameters(TimeZoneParameters):
    """Which path, and by which clock its sentence gives times."""

    path: Annotated[str, Field(max_length=4000), AfterValidator(_absolute)] = Field(
        description="An absolute path"
    )


async def why(call: Call) -> web.StreamResponse:
    """Say what became of a path: stored, waiting, left out, failed, removed, or never seen."""
    params = call.parameters(WhyParameters)
    clock = partial(to_the_minute, tz=call.display(params.tz).tz)
    told = await _told(call, params.path, clock)
    # A name with a secret in it is stored under another.
    if (name := await asyncio.to_thread(call.runtime.redaction.name, params.path)) != params.path:
        of_name = await _told(call, name, clock)
        told = told if of_name.state in ("unseen", "left") else of_name
    # The same name may be composed otherwise on the disk than in the question.
    for form in ("NFC", "NFD"):
        if told.state == "unseen" and (other := normalize(form, params.path)) != params.path:
            told = await _told(call, other, clock)
    return json_reply(told)


async def _told(call: Call, path: str, clock: Clock) -> WhyPath:
    store, name = call.runtime.store, Path(path)
    # Where a folder is, is nothing for users with a store of their own.
    if name.name == IGNORE_FILE and not call.caller.user and name.parent.is_dir():
        return WhyPath(
            path=path, state="left",
            sentence=f"{path} says what is left out of {name.parent}; it is never stored.",
        )  # fmt: skip
    around = [path, *map(str, Path(path).parents)]
    newest_last = reversed(await store.ingest.ledger_at(around))
    # One source leaves out what another one reads: what that one says counts.
    said = sorted(newest_last, key=lambda row: row.outcome != "left")
    rows = {_place(row): row for row in said}
    if (row := rows.get(path)) is not None:
        return await _of_row(call, path, row, clock)
    for job in await store.jobs.unfinished():
        if job.params.get("path") in around:
            now = await call.runtime.ingest.jobs.get(job.id)  # its end may not have been written
            is_stopped = now.state == "failed"
            stopped = f"was not reached: the job {job.id} stopped: {now.message}"
            return WhyPath(
                path=path, state="waiting", reason=now.message if is_stopped else None,
                sentence=f"{path} {stopped}." if is_stopped
                else f"{path} waits in the job {job.id}, which is {now.state}.",
            )  # fmt: skip
    for folder in around[1:]:
        if (row := rows.get(folder)) is not None and row.outcome in _STATES:
            sentence = f"{path} is in {folder}, which {_SAID[row.outcome]}: {row.reason}"
            return _entry(path, row, clock, sentence)
    known: dict[str, list[FollowedLocation]] = {}
    for each in await store.ingest.locations():
        known.setdefault(each.location.path, []).append(each)
    if here := known.get(path):
        if failed := [each for each in here if each.error]:
            because, source = failed[0].error, failed[0].location.source
            return WhyPath(
                path=path, state="failed", source=source, at=failed[0].read_at, reason=because,
                sentence=f"{path} could not be read: {because}.",
            )  # fmt: skip
        counts = _by_source(await store.ingest.ledger_counts(path))
        by = [each.location.source for each in here]
        return _read(
            path, here, clock, f"was read by {_and([(each, counts.get(each, '')) for each in by])}"
        )
    for folder in around[1:]:
        if above := known.get(folder):
            return await _below(call, path, folder, above, clock)
    return WhyPath(
        path=path, state="unseen",
        sentence=f"{path} was never seen: no source has read it; to add it: mem-search add"
        f" {quote(path)}",
    )  # fmt: skip


async def _below(
    call: Call, path: str, folder: str, above: Sequence[FollowedLocation], clock: Clock
) -> WhyPath:
    """Of a path without an entry of its own, in a ``folder`` that was read."""
    store = call.runtime.store.ingest
    if parts := await _parts(call, path):
        records = sum(row.records for row in parts)
        gave = f"{path} gave {counted(records, 'record')}{_missing(parts)}"
        told = _entry(path, parts[0], clock, gave)
        if not call.caller.user:
            told.sentence += await _if_gone(path, records)
        return told
    below = f"{path.removeprefix(folder.rstrip('/') + '/')}/"
    if counts := await store.ledger_counts(folder, below):
        numbers = ", ".join(f"{items} {outcome} by {by}" for by, outcome, items in counts)
        return _read(path, above, clock, f"is read as a part of {folder}: {numbers}")
    newest = max(above, key=lambda each: each.read_at)
    if stopped := next((each for each in above if each.error), None):
        return WhyPath(
            path=path, state="waiting", source=stopped.location.source, at=stopped.read_at,
            reason=stopped.error,
            sentence=f"{path} was not reached: the reading of {folder} stopped: {stopped.error}.",
        )  # fmt: skip
    for each in above:
        if each.location.source == FILES:
            cursor = await store.cursor(each.location)
            if by := left_to(folder, cursor, path):
                return WhyPath(
                    path=path, state="left", source=FILES, at=each.read_at,
                    sentence=f"{path} was left out by the source files, because the source {by}"
                    f" reads it: mem-search sync {by} {quote(folder)}",
                )  # fmt: skip
    step = f"is read again every {call.lifecycle.settings.follow:g} seconds"
    if not _is_followed(call, above):
        step = f"can be read again: mem-search add {quote(folder)}"
    if not call.caller.user and (since := await asyncio.to_thread(_there_since, path)):
        sources = list(dict.fromkeys(each.location.source for each in above))
        takers = {name: _takes(name, path) for name in sources}
        taker = next((name for name in sources if takers[name]), None)
        if taker and (by_session := await _of_session(call, path, below, taker, clock)):
            return by_session
        if since < newest.read_at or not any(each is not False for each in takers.values()):
            reason, step = await asyncio.to_thread(_not_read, path, folder, sources, taker)
            return WhyPath(
                path=path, state="left", at=newest.read_at, reason=reason,
                sentence=f"{path} is not read: {reason}; {step}",
            )  # fmt: skip
    return WhyPath(
        path=path, state="unseen", source=newest.location.source, at=newest.read_at,
        sentence=f"{path} was not there when {folder} was last read"
        f" (at {clock(newest.read_at)}); the folder {step}.",
    )  # fmt: skip


async def _of_session(
    call: Call, path: str, below: str, source: str, clock: Clock
) -> WhyPath | None:
    """Of a file that the ledger calls by its session, which one of its names has; None of another.

    A source that finds a session in several places says what it read by the session.
    """
    for part in reversed([*Path(below).parts[:-1], Path(below).stem]):
        session = part.rpartition("_")[2]
        if len(session) < _MIN_ID_CHARS:
            continue
        rows = await call.runtime.store.ingest.ledger(source, session, _MAX_PARTS, 0)
        if said := [row for row in rows if row.item.partition(":")[0] in (part, session)]:
            records = sum(row.records for row in said)
            gave = f"{path} is of the session {session}, which gave {records} record(s)"
            whole = next((row for row in said if row.outcome == "taken"), said[0])
            return _entry(path, whole, clock, f"{gave}{_missing(said)}")
    return None


def _not_read(path: str, folder: str, sources: Sequence[str], taker: str | None) -> tuple[str, str]:
    """Why what was there when the ``folder`` was read has no entry, and the next step."""
    place, by = Path(path), listed(sources)
    if place.is_symlink():
        step = f"see what it leads to: mem-search why {quote(str(place.resolve()))}"
        return f"it is a link, and what it leads to is read where it is ({by})", step
    if place.is_dir():
        step = f"to read it by itself: mem-search add {quote(path)}"
        return f"it is a folder in which nothing is read by what reads {folder} ({by})", step
    if taker:
        step = f"what it said of others: mem-search ledger --source {taker}"
        return f"the source {taker}, which reads such files, said nothing of it", step
    other = for_path(place)
    step = f"mem-search sync {other} {quote(path)}" if other else f"mem-search add {quote(path)}"
    return f"no source that reads {folder} reads such a file ({by})", f"to read it: {step}"


async def _parts(call: Call, path: str) -> list[LedgerRow]:
    """The entries of parts of one file: messages of a mailbox, lines that cannot be read."""
    rows = await call.runtime.store.ingest.ledger("", f"{path}:", _MAX_PARTS, 0)
    return [row for row in rows if _place(row).startswith(f"{path}:")]


def _missing(parts: Sequence[LedgerRow]) -> str:
    """What the ledger says of parts that are not stored, or not whole: of each kind the first."""
    said = ""
    for outcome, became in _MISSING.items():
        if rows := [row for row in parts if row.outcome == outcome and row.reason]:
            name = f"{rows[0].item.rpartition(':')[2]}: " if outcome == "left" else ""
            said += f"; {counted(len(rows), 'part')} of it {became}: {name}{rows[0].reason}"
    return said


def _is_followed(call: Call, known: Iterable[FollowedLocation]) -> bool:
    return bool(call.lifecycle.settings.follow) and any(each.followed for each in known)


def _there_since(path: str) -> int:
    """When the path was made, moved there or changed, in ms since 1970; 0 if it is not there."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0
    return int(max(status.st_mtime, status.st_ctime) * 1000)


def _takes(name: str, path: str) -> bool | None:
    """Whether the source reads a file that is called so; None if only its reading can tell."""
    try:
        source = by_name(name)
        if isinstance(source, BaseSource) and type(source).recognises is BaseSource.recognises:
            return None
        return source.recognises(Path(path))
    except (InputError, AttributeError, OSError, ValueError):  # its package is gone, or is old
        return None


def _read(path: str, by: Sequence[FollowedLocation], clock: Clock, said: str) -> WhyPath:
    newest = max(by, key=lambda each: each.read_at)
    return WhyPath(
        path=path, state="read", source=newest.location.source, at=newest.read_at,
        sentence=f"{path} {said} (at {clock(newest.read_at)}).",
    )  # fmt: skip


def _by_source(counts: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """``1 failed, 3 taken`` by source."""
    by_source: dict[str, str] = {}
    for source, outcome, items in counts:
        before = f"{by_source[source]}, " if source in by_source else ""
        by_source[source] = f"{before}{items} {outcome}"
    return by_source


def _and(said: Sequence[tuple[str, str]]) -> str:
    """``the sources files (3 taken) and mail (nothing new)``; of one source without brackets."""
    if len(said) == 1:
        return f"the source {said[0][0]}: {said[0][1] or 'nothing new'}"
    several = [f"{source} ({numbers or 'nothing new'})" for source, numbers in said]
    return f"the sources {listed(several)}"


def _place(row: LedgerRow) -> str:
    """The path that an entry is about: a location that is one file is its only item."""
    whole = row.location.endswith(f"/{row.item}")
    return row.location if whole else f"{row.location.rstrip('/')}/{row.item}"


def _entry(path: str, row: LedgerRow, clock: Clock, sentence: str, **more: Any) -> WhyPath:
    return WhyPath(
        path=path,
        state=_STATES.get(row.outcome, "stored"),
        source=row.source,
        at=row.at,
        reason=row.reason or None,
        sentence=f"{sentence} (source {row.source}, {clock(row.at)}).",
        **more,
    )


async def _of_row(call: Call, path: str, row: LedgerRow, clock: Clock) -> WhyPath:
    if row.outcome in _SAID:
        told = _entry(path, row, clock, f"{path} {_SAID[row.outcome]}: {row.reason}")
    else:
        record = await call.runtime.store.records.named(row.source, path)
        if record is None:
            parts = [row, *await _parts(call, path)]
            gave = f"{path} gave {counted(row.records, 'record')}{_missing(parts)}"
            told = _entry(path, row, clock, gave)
        else:
            passages = await call.runtime.store.records.passages(record.number)
            count = sum(each.ordinal >= 0 for each in passages)
            told = _entry(path, row, clock, _stored(path, record, count), record=str(record.ref))
    if call.caller.user:
        return told
    if row.source == FILES:
        for more in await _since(call, path, row):
            told.sentence += f" {more}"
    else:
        told.sentence += await _if_gone(path, row.records)
    return told


async def _if_gone(path: str, records: int) -> str:
    """Of a file whose records do not leave with it."""
    if not records or not path.startswith("/") or await asyncio.to_thread(os.path.exists, path):
        return ""
    return " The file is gone; its records stay until you forget them: mem-search forget REF."


def _stored(path: str, record: Record, passages: int) -> str:
    pages = record.metadata.get("pages")
    parts = [f"{len(record.text):,} characters in {counted(passages, 'passage')}"]
    if isinstance(pages, int):
        parts.insert(0, f"{counted(pages, 'page')}")
    if secrets := record.text.count(MARKER):
        parts.append(f"{counted(secrets, 'secret')} replaced by markers")
    confidence = record.metadata.get("ocr_confidence")
    if isinstance(confidence, int | float):
        parts.append(f"text from pictures (OCR) with a confidence of {confidence:.0%}")
    unread = "".join(f"; {said}" for said in unread_of(record.metadata))
    return f"{path} is stored as {record.ref}: {', '.join(parts)}{unread}"


async def _since(call: Call, path: str, row: LedgerRow) -> Iterable[str]:
    """Copies of the file, and whether it has changed since it was read."""
    ingest = call.runtime.store.ingest
    known = [each for each in await ingest.locations() if each.location.source == FILES]
    cursors = {
        each.location.path: await ingest.cursor(Location(FILES, each.location.path))
        for each in known
    }
    digests = digests_of(cursors)
    stamp, digest = digests.get(path, ("", ""))
    copies = sorted(other for other, (_, each) in digests.items() if each == digest != "")
    said = [f"It has the same content as {other}." for other in copies if other != path][:1]
    was = stamp if row.outcome != "left" and MARKER not in path else ""
    if was and not was.startswith(await asyncio.to_thread(_stamp, path)):
        above = [each for each in known if Path(path).is_relative_to(each.location.path)]
        step = "will be" if _is_followed(call, above) else f"can be (mem-search add {quote(path)})"
        said.append(f"It has changed since then and {step} read again.")
    return said


def _stamp(path: str) -> str:
    try:
        return look_at(Path(path)).stamp
    except OSError:
        return "gone"


# fmt: off
ROUTES = (
    Route("GET", "/api/why", why, "Say what became of a file or folder", "about", WhyParameters, response=WhyPath, private=True),
)
