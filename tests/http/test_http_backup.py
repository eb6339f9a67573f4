"""A backup over HTTP whose reader goes away."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from chosen_store import in_a_file
from mem_search.storage import archive
from patience import PATIENCE


@in_a_file("a server is backed up by programs of its own")
async def test_a_reader_that_leaves_leaves_no_half_backup_behind(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, left = threading.Event(), threading.Event()

    def write(*args: Any, original: Any = archive.write, **named: Any) -> None:
        begun.set()
        left.wait(PATIENCE)
        original(*args, **named)

    monkeypatch.setattr(archive, "write", write)
    home = lifecycle_of(client).settings.home

    def halves() -> list[str]:
        return [each.name for each in home.glob(f"{archive.PREFIX}*")]

    asking = asyncio.create_task(client.get("/api/v1/backup", headers=AUTHORIZED))
    await asyncio.to_thread(begun.wait, PATIENCE)
    assert len(await asyncio.to_thread(halves)) == 1
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    left.set()
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(halves):  # noqa: ASYNC110  it asks about files
            await asyncio.sleep(0.01)
    reply = await client.get("/api/v1/backup", headers=AUTHORIZED)
    assert (reply.status, (await reply.read())[:2]) == (200, b"PK")
