"""Where an uploaded file lies until its job has read it: ``Settings.spool_dir``.

A job may be resumed by a later worker, so a file is left where it is when it was handed over;
``sweep`` removes what is older than a day, at start.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from mem_search.errors import StorageError

log = logging.getLogger(__name__)

KEEP_SECONDS = 24 * 3600.0


def sweep(folder: Path, now: float | None = None) -> int:
    """Remove files older than a day; returns how many."""
    before = (time.time() if now is None else now) - KEEP_SECONDS
    removed = 0
    for file in folder.glob("*.jsonl*"):
        try:
            if file.stat().st_mtime < before:
                file.unlink()
                removed += 1
        except OSError as error:  # a file that stays for another day harms nobody
            log.warning("cannot remove the old upload %s: %s", file, error)
    return removed


async def keep(folder: Path, chunks: AsyncIterator[bytes]) -> Path:
    """Write ``chunks`` into a new file, whole or not at all. Raises StorageError."""
    path = folder / f"{uuid.uuid4().hex}.jsonl"
    part = path.with_suffix(".jsonl.part")
    try:
        await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        file = await asyncio.to_thread(part.open, "wb")
        try:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
        finally:
            await asyncio.to_thread(file.close)
        await asyncio.to_thread(part.replace, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if isinstance(error, ConnectionError):
            raise
        raise StorageError(f"cannot keep the upload in {path.parent}: {error}") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path
