"""Keeping followed locations fresh while the worker runs."""

from __future__ import annotations

import asyncio
import logging

from mem_search.errors import MemSearchError
from mem_search.jobs.reading import Reader
from mem_search.storage.sqlite import intake
from mem_search.storage.sqlite.database import Database

log = logging.getLogger(__name__)


async def follow(database: Database, reader: Reader, seconds: float) -> None:
    """Look at every followed location each ``seconds``, until cancelled. 0 never looks."""
    while seconds:
        await asyncio.sleep(seconds)
        try:
            known = await database.read(intake.locations)
        except MemSearchError as error:
            log.warning("following waits: %s", error)
            continue
        for followed in known:
            if not followed.followed:
                continue
            try:
                await reader.read(followed.location)
            except MemSearchError as error:
                # Said once per reason: the ledger and `mem-search stats` keep the newest.
                if error.message != followed.error:
                    log.warning("%s: %s", followed.location.path, error)
