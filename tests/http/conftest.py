"""A real worker app over a temporary home: SQLite, the hashing embedder, no Chroma, no network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer
from described import Watcher
from http_worker import RECORDS, TOKEN, Client, Get, lifecycle_of, viewer_of

import chosen_store
from filled_homes import FilledHomes, begun
from mem_search.features.webhooks.service import webhook_secret
from mem_search.http.core.app import build_app
from mem_search.model import Location
from mem_search.settings import Settings
from mem_search.wiring import Runtime
from runtimes import fill, settled
from webhook_receiver import Receiver, receiving


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        home=tmp_path / "home",
        port=0,
        token=TOKEN,
        embedder="hashing",
        chroma_url="off",
        follow=0,
        sparse=False,
        timezone="UTC",
        **chosen_store.of_home(tmp_path / "home"),
    )


@pytest.fixture
async def empty(
    settings: Settings, request: pytest.FixtureRequest, filled_homes: FilledHomes
) -> AsyncIterator[Client]:
    """A worker that has nothing stored; every reply of it is held against the OpenAPI document."""
    if not settings.store:
        if "client" in request.fixturenames:
            await filled_homes.copy("records", take_records, settings.home)
        elif "filled" in request.fixturenames:
            module = request.module
            await filled_homes.copy(
                module.__name__, lambda made: fill(made, *module.STORED), settings.home
            )
    app = build_app(settings)
    watcher = Watcher(app)
    client = TestClient(TestServer(app))
    async with client:
        await lifecycle_of(client).ready()
        if settings.home in filled_homes.copied:
            await begun()
        yield client
    assert not watcher.faults


async def take_records(runtime: Runtime) -> None:
    """Store and embed ``RECORDS``."""
    file = runtime.settings.home.parent / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), "utf-8")
    taken = await runtime.ingest.reader.read(Location("jsonl", str(file)))
    assert taken.new == len(RECORDS)
    await settled(runtime)  # until then one search may know more vectors than the one before


@pytest.fixture
async def client(empty: Client, filled_homes: FilledHomes) -> Client:
    """A worker that has stored and embedded ``RECORDS``."""
    runtime = lifecycle_of(empty).runtime
    if runtime.settings.home not in filled_homes.copied:
        await take_records(runtime)
    return empty


@pytest.fixture
async def filled(
    empty: Client, request: pytest.FixtureRequest, filled_homes: FilledHomes
) -> Client:
    """A worker that has taken in the drafts ``STORED`` of the test's module."""
    runtime = lifecycle_of(empty).runtime
    if runtime.settings.home not in filled_homes.copied:
        await fill(runtime, *request.module.STORED)
    return empty


@pytest.fixture
async def receiver(settings: Settings) -> AsyncIterator[Receiver]:
    """A program that takes every message of a webhook."""
    async with receiving(204, secret=webhook_secret(settings)) as receiver:
        yield receiver


@pytest.fixture
async def viewer(empty: Client) -> AsyncIterator[ClientSession]:
    """A client at the viewer's origin of the same worker."""
    async with viewer_of(empty) as found:
        yield found


@pytest.fixture
async def numbers(client: Client) -> dict[str, int]:
    """source_id → number."""
    rows = await lifecycle_of(client).runtime.store.database.read(
        lambda connection: connection.execute("select source_id, id from records").fetchall()
    )
    return dict(rows)


@pytest.fixture
def get(client: Client) -> Get:
    """GET a path as JSON: ``await get("/api/search", query="auth")``; asserts 200."""

    async def fetch(path: str, **params: Any) -> Any:
        reply = await client.get(path, params={k: str(v) for k, v in params.items()})
        assert reply.status == 200, await reply.text()
        return await reply.json()

    return fetch
