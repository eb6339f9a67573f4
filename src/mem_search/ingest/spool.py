"""The spool (``Settings.spool_dir``): uploaded files until their job has read them.

Each upload has a separate folder, so a source sees the original file name, and the files that
SQLite adds beside a database are removed with it. A later worker may resume the job, so a file
stays until it is read. ``keep_swept`` removes files that are older than a day, except those that a
job is still to read: an upload whose job failed can be retried for a day.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path

from mem_search.errors import UNWRITABLE, StorageError

log = logging.getLogger(__name__)

KEEP_SECONDS = 24 * 3600.0
SWEEP_SECONDS = 3600.0
_MAX_NAME_BYTES = 200
"""Bytes; file systems allow 255, and SQLite adds an ending."""


def sweep(folder: Path, kept: Collection[str] = (), now: float | None = None) -> int:
    """Remove uploads older than a day, except ``kept`` ones (see ``keep``); returns how many."""
    names = {Path(spooled).parts[0] for spooled in kept}
    removed = 0
    for upload in folder.glob("*"):
        try:
            age = (time.time() if now is None else now) - upload.stat().st_mtime
            # Also one of a clock that was ahead.
            if upload.name not in names and abs(age) > KEEP_SECONDS:
                _remove(upload)
                removed += 1
        except OSError as error:  # the next sweep tries again
            log.warning("cannot remove the old upload %s: %s", upload, error)
    return removed


async def keep_swept(
    folder: Path,
    kept: Callable[[], Awaitable[Collection[str]]],
    pause: float = SWEEP_SECONDS,
) -> None:
    """``sweep`` now and after each ``pause`` seconds, until cancelled; ``kept`` says what stays."""
    while True:
        try:
            await asyncio.to_thread(sweep, folder, await kept())
        except StorageError as error:
            log.warning("old uploads are removed later: %s", error)
        await asyncio.sleep(pause)


async def keep(
    folder: Path, chunks: AsyncIterator[bytes], name: str, suffixes: Sequence[str]
) -> str:
    """Write ``chunks`` into a new file, whole or not at all; returns its path in ``folder``.

    The file is called ``name``, with the first of ``suffixes`` if it ends with none of them.
    Raises StorageError.
    """
    upload = folder / uuid.uuid4().hex
    part = upload.with_suffix(".part")
    file_name = _file_name(name or upload.name, suffixes)
    try:
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        file = await asyncio.to_thread(part.open, "wb")
        try:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
        finally:
            await asyncio.to_thread(file.close)
        await asyncio.to_thread(upload.mkdir, mode=0o700)
        await asyncio.to_thread(part.replace, upload / file_name)
    except OSError as error:
        part.unlink(missing_ok=True)
        shutil.rmtree(upload, ignore_errors=True)
        if isinstance(error, ConnectionError):
            raise
        step = "; free some space, then send it again" if error.errno in UNWRITABLE else ""
        why = error.strerror or error
        raise StorageError(f"cannot keep the upload in {folder}: {why}{step}") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return f"{upload.name}/{file_name}"


def discard(folder: Path, spooled: str) -> None:
    """Remove an upload that was read; ``spooled`` is what ``keep`` returned."""
    _remove(folder / Path(spooled).parts[0])


def _file_name(name: str, suffixes: Sequence[str]) -> str:
    """``name`` as a valid file name: one component, without control characters."""
    if name in (".", "..") or len(name.encode()) > _MAX_NAME_BYTES:
        name = "upload"
    return name if name.endswith(tuple(suffixes)) else name + suffixes[0]


def _remove(upload: Path) -> None:
    if upload.is_dir():
        shutil.rmtree(upload)
    else:  # an interrupted part
        upload.unlink(missing_ok=True)
