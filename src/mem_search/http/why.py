"""``GET /api/why``: what became of a file or folder, in one sentence and in fields."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from aiohttp import web
from pydantic import AfterValidator, Field

from mem_search.http.core.parameters import Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.documents import PathState, WhyPath
from mem_search.model import Location, Record
from mem_search.model.ingest import LedgerRow
from mem_search.sources.files import digests_of, left_to
from mem_search.sources.files.folder import look_at
from mem_search.text.dates import iso
from mem_search.validation import invalid_value

_STATES: Mapping[str, PathState] = {"left": "left", "failed": "failed", "deleted": "deleted"}
_SAID: Mapping[str, str] = {
    "left": "was left out",
    "failed": "could not be read",
    "deleted": "was removed from the store",
}


def _absolute(text: str) -> str:
    path = Path(text)
    if not path.is_absolute() or "\0" in text:
        raise invalid_value("is an absolute path on the worker's machine, such as /home/me/a.pdf")
    return str(path)


class WhyParameters(Parameters):
    """Which path."""

    path: Annotated[str, Field(max_length=4000), AfterValidator(_absolute)] = Field(
        description="An absolute path"
    )


async def why(call: Call) -> web.StreamResponse:
    """Say what became of a path: stored, waiting, left out, failed, removed, or never seen."""
    path = call.parameters(WhyParameters).path
    found = await _told(call, path)
    return json_reply(found)


async def _told(call: Call, path: str) -> WhyPath:
    store = call.runtime.store
    around = [path, *map(str, Path(path).parents)]
    newest_last = reversed(await store.ingest.ledger_at(around))
    # One source leaves out what another one reads: what that one says counts.
    said = sorted(newest_last, key=lambda row: row.outcome != "left")
    rows = {_place(row): row for row in said}
    if (row := rows.get(path)) is not None:
        return await _of_row(call, path, row)
    for job in await store.jobs.unfinished():
        if job.params.get("path") in around:
            return WhyPath(
                path=path, state="waiting",
                sentence=f"{path} waits in the job {job.id}, which is {job.state}.",
            )  # fmt: skip
    for folder in around[1:]:
        if (row := rows.get(folder)) is not None and row.outcome in _STATES:
            sentence = f"{path} is in {folder}, which {_SAID[row.outcome]}: {row.reason}"
            return _entry(path, row, sentence)
    known = {each.location.path: each for each in await store.ingest.locations()}
    if (here := known.get(path)) is not None:
        counts = await store.ingest.ledger_counts(path)
        numbers = ", ".join(f"{items} {outcome}" for _, outcome, items in counts) or "nothing new"
        sentence = f"{path} was read by the source {here.location.source}: {numbers}"
        return WhyPath(
            path=path, state="read", source=here.location.source, at=here.read_at,
            sentence=f"{sentence} (at {iso(here.read_at)}).",
        )  # fmt: skip
    for folder in around[1:]:
        if (above := known.get(folder)) is not None:
            below = f"{path.removeprefix(folder.rstrip('/') + '/')}/"
            if counts := await store.ingest.ledger_counts(folder, below):
                numbers = ", ".join(f"{items} {outcome} by {by}" for by, outcome, items in counts)
                return WhyPath(
                    path=path, state="read", source=above.location.source, at=above.read_at,
                    sentence=f"{path} is read as a part of {folder}: {numbers}"
                    f" (at {iso(above.read_at)}).",
                )  # fmt: skip
            cursor = await store.ingest.cursor(above.location)
            if by := left_to(folder, cursor, path):
                return WhyPath(
                    path=path, state="left", source=above.location.source, at=above.read_at,
                    sentence=f"{path} was left out by the source files, because the source {by}"
                    f" reads it: mem-search sync {by} {folder}",
                )  # fmt: skip
            step = f"is read again every {call.lifecycle.settings.follow:g} seconds"
            if not above.followed or not call.lifecycle.settings.follow:
                step = f"can be read again: mem-search add {folder}"
            return WhyPath(
                path=path, state="unseen", source=above.location.source, at=above.read_at,
                sentence=f"{path} was not there when {folder} was last read"
                f" (at {iso(above.read_at)}); the folder {step}.",
            )  # fmt: skip
    return WhyPath(
        path=path, state="unseen",
        sentence=f"{path} was never seen: no source has read it; to add it: mem-search add {path}",
    )  # fmt: skip


def _place(row: LedgerRow) -> str:
    """The path that an entry is about: a location that is one file is its only item."""
    whole = row.location.endswith(f"/{row.item}")
    return row.location if whole else f"{row.location.rstrip('/')}/{row.item}"


def _entry(path: str, row: LedgerRow, sentence: str, **more: Any) -> WhyPath:
    return WhyPath(
        path=path,
        state=_STATES.get(row.outcome, "stored"),
        source=row.source,
        at=row.at,
        reason=row.reason or None,
        sentence=f"{sentence} (source {row.source}, {iso(row.at)}).",
        **more,
    )


async def _of_row(call: Call, path: str, row: LedgerRow) -> WhyPath:
    if row.outcome in _SAID:
        told = _entry(path, row, f"{path} {_SAID[row.outcome]}: {row.reason}")
    else:
        record = await call.runtime.store.records.named(row.source, path)
        if record is None:
            return _entry(path, row, f"{path} gave {row.records} record(s)")
        passages = await call.runtime.store.records.passages(record.number)
        told = _entry(path, row, _stored(path, record, len(passages)), record=str(record.ref))
    if row.source == "files" and not call.caller.user:
        for more in await _since(call, path, row):
            told.sentence += f" {more}"
    return told


def _stored(path: str, record: Record, passages: int) -> str:
    pages = record.metadata.get("pages")
    parts = [f"{len(record.text):,} characters in {passages} passage(s)"]
    if isinstance(pages, int):
        parts.insert(0, f"{pages} page(s)")
    if secrets := record.text.count("[redacted:"):
        parts.append(f"{secrets} secret(s) replaced by markers")
    confidence = record.metadata.get("ocr_confidence")
    if isinstance(confidence, int | float):
        parts.append(f"text from pictures (OCR) with a confidence of {confidence:.0%}")
    return f"{path} is stored as {record.ref}: {', '.join(parts)}"


async def _since(call: Call, path: str, row: LedgerRow) -> Iterable[str]:
    """Copies of the file, and whether it has changed since it was read."""
    ingest = call.runtime.store.ingest
    cursors = {
        known.location.path: await ingest.cursor(Location("files", known.location.path))
        for known in await ingest.locations()
        if known.location.source == "files"
    }
    digests = digests_of(cursors)
    _, digest = digests.get(path, ("", ""))
    copies = sorted(other for other, (_, each) in digests.items() if each == digest != "")
    said = [f"It has the same content as {other}." for other in copies if other != path][:1]
    stamp = digests.get(path, ("", ""))[0]
    if (
        stamp
        and row.outcome != "left"
        and not stamp.startswith(await asyncio.to_thread(_stamp, path))
    ):
        said.append("It has changed since then and will be read again.")
    return said


def _stamp(path: str) -> str:
    try:
        return look_at(Path(path)).stamp
    except OSError:
        return "gone"
