"""A worker with one note and the fixtures of the conformance suite; prints its port."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from aiohttp import web

from mem_search.http.core.app import build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.mcp import ENDPOINT
from mem_search.mcp.endpoint import Endpoint
from mem_search.model import Location
from mem_search.settings import Settings

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


async def serve(home: Path) -> None:
    """Until a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    settings = Settings(home=home, port=0, embedder="hashing", chroma_url="off", follow=0)
    app = build_app(settings)
    app[ENDPOINT] = Endpoint("fixtures")
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        runtime = await app[LIFECYCLE].ready()
        await runtime.ingest.reader.read(Location("jsonl", str(HERE / "note.jsonl")))
        print(runner.addresses[0][1], flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mem-search-conformance-") as temporary:
        asyncio.run(serve(Path(temporary)))
