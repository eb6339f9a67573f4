"""A worker app on a real port in a thread, for callers without asyncio.

Its home and the person's home (``HOME``, where sources look) are temporary; nothing of the
machine is read.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from aiohttp.test_utils import TestServer
from http_worker import RECORDS, TOKEN, viewer_opened

import chosen_store
from mem_search.http.core.app import MAX_LINE_BYTES, build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.model import Location
from mem_search.settings import Settings
from patience import PATIENCE
from runtimes import settled


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The address of a worker with ``RECORDS`` and a viewer; it ends with the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="worker", daemon=True)
    thread.start()
    try:
        opened = AsyncExitStack()
        url = asyncio.run_coroutine_threadsafe(_start(directory, opened), loop).result(PATIENCE)
        yield url
        asyncio.run_coroutine_threadsafe(opened.aclose(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


async def _start(directory: Path, opened: AsyncExitStack) -> str:
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
    opened.push_async_callback(server.close)
    assert server.runner is not None
    await opened.enter_async_context(viewer_opened(server.runner))
    app[LIFECYCLE].url = str(server.make_url("/")).rstrip("/")
    runtime = await app[LIFECYCLE].ready()
    file = directory / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), "utf-8")
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    await settled(runtime)
    return app[LIFECYCLE].url
