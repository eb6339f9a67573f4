"""Stores to test against: a bare migrated connection, an open database, a whole runtime, a home.

``filled`` and ``home`` have what the module of the test has as ``STORED``.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from drafts import in_memory
from homes import Home, quick
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.store import SqliteStore
from new_stores import migrate_by_copy, prepared_without_disk
from tiers import pytest_collection_modifyitems, pytest_runtest_call

if TYPE_CHECKING:
    from filled_homes import FilledHomes
    from mem_search.wiring import Runtime

__all__ = ["pytest_collection_modifyitems", "pytest_runtest_call"]  # hooks of tiers.py

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so, and the commands under test would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Documents without a time zone have that of the machine, which is another one elsewhere.
os.environ["TZ"] = "UTC"
time.tzset()

# A busy machine is no fault of an example, and a change is not refused for an example that finds
# an older fault: that is for the runs elsewhere, which take new examples each time.
settings.register_profile("unhurried", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("unhurried")


gc.disable()  # until all tests are collected: what is imported till then is there to the end


def pytest_collection_finish() -> None:
    """Collecting garbage need not look at 600,000 objects of the suite itself each time."""
    gc.freeze()
    gc.enable()


PREPARED_HERE = 10**7
"""Characters of a batch that tests prepare in a thread, where the worker allows ``SMALL``."""


@pytest.fixture(scope="session", autouse=True)
def prepared_here() -> Iterator[None]:
    """No runtime of a test starts the process that prepares batches: it costs half a second, and
    there are a thousand runtimes. ``tests/ingest/test_prepare_process.py`` and workers have it.
    """
    from mem_search.ingest import prepare_process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare_process, "SMALL", PREPARED_HERE)
        yield


@pytest.fixture(scope="session", autouse=True)
def stores_are_copied() -> Iterator[None]:
    """A new store in this process is a copy, and no write waits for the disk (``new_stores``)."""
    opening = "mem_search.storage.sqlite.database"  # a name ``database`` would be the fixture
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{opening}.migrate", migrate_by_copy)
        patch.setattr(f"{opening}.prepared", prepared_without_disk)
        yield


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """A new store in memory."""
    connection = in_memory()
    yield connection
    connection.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A new store in a file."""
    database = await Database.open(tmp_path / "home" / "mem-search.db")
    yield database
    await database.close()


@pytest.fixture
def store(database: Database) -> SqliteStore:
    """A new store in a file, as the product sees it."""
    return SqliteStore(database)


@pytest.fixture(scope="session")
def filled_homes(tmp_path_factory: pytest.TempPathFactory) -> FilledHomes:
    from filled_homes import FilledHomes

    return FilledHomes(tmp_path_factory.mktemp("filled"))


@pytest.fixture
async def runtime(
    tmp_path: Path, request: pytest.FixtureRequest, filled_homes: FilledHomes
) -> AsyncIterator[Runtime]:
    """A whole runtime with the hashing embedder and without Chroma, empty."""
    # Imported here: tests of single parts need not load, or wait for, the whole.
    from filled_homes import begun
    from mem_search.wiring import open_runtime
    from runtimes import fill, small

    settings = small(tmp_path / "home")
    if "filled" in request.fixturenames and not settings.store:
        module = request.module
        await filled_homes.copy(
            module.__name__, lambda made: fill(made, *module.STORED), settings.home
        )
    async with open_runtime(settings) as runtime:
        if settings.home in filled_homes.copied:
            await begun()
        yield runtime


@pytest.fixture
async def filled(
    runtime: Runtime, request: pytest.FixtureRequest, filled_homes: FilledHomes
) -> Runtime:
    """A whole runtime that has taken in the drafts ``STORED``."""
    from runtimes import fill

    if runtime.settings.home not in filled_homes.copied:
        await fill(runtime, *request.module.STORED)
    return runtime


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    """A home for tests of everything but the model: quick to start."""
    home = quick(tmp_path)
    yield home
    home.end()


@pytest.fixture(scope="module")
def home(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Home]:
    """As ``mem``, with the records ``STORED``, for all tests of a module that need no new one: each
    starts the worker where none runs.
    """
    home = quick(tmp_path_factory.mktemp("home"))
    if stored := getattr(request.module, "STORED", ()):
        home.ok("import", "jsonl", "-", given="".join(f"{json.dumps(each)}\n" for each in stored))
    yield home
    home.end()
