"""A worker app on a real port in a thread, for callers without asyncio.

Its home and the person's home (``HOME``, where sources look) are temporary; nothing of the
machine is read.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp.test_utils import TestServer
from http_worker import RECORDS, TOKEN

import chosen_store
from mem_search.http.core.app import MAX_LINE_BYTES, build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.model import Location
from mem_search.settings import Settings
from patience import PATIENCE
from runtimes import settled


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The address of a worker that has indexed ``RECORDS``; it ends with the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="worker", daemon=True)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(_start(directory), loop).result(PATIENCE)
        yield str(server.make_url("/")).rstrip("/")
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


async def _start(directory: Path) -> TestServer:
    settings = Settings(
        home=directory / "home",
        port=0,
        token=TOKEN,
        embedder="hashing",
        chroma_url="off",
        follow=0,
        timezone="UTC",
        **chosen_store.of_home(directory / "home"),
    )
    app = build_app(settings)
    server = TestServer(app)
    await server.start_server(max_line_size=MAX_LINE_BYTES)
    runtime = await app[LIFECYCLE].ready()
    file = directory / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), "utf-8")
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    await settled(runtime)
    return server
