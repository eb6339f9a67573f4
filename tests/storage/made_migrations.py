"""A migration that tests make up, and stores from before it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from drafts import draft, store
from mem_search.storage.sqlite import migrations as sqlite
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database


def m001_made(connection: SqliteConnection) -> None:
    """A migration of a newer version."""
    connection.execute("alter table records add column made text not null default 'made'")


def register(
    monkeypatch: pytest.MonkeyPatch, *migrations: Any, engine: ModuleType = sqlite
) -> None:
    """This version has ``migrations``, or ``m001_made``: a store of before is an older one."""
    more = (*engine.MIGRATIONS, *(migrations or (m001_made,)))
    monkeypatch.setattr(engine, "STORE", replace(engine.STORE, migrations=more))


async def older(file: Path, text: str = "harbour lights") -> Path:
    """A store of this version, with one record; ``register`` makes it an older one."""
    assert sqlite.STORE.migrations == sqlite.MIGRATIONS
    database = await Database.open(file)
    await database.write(store, draft("1", text, kind="note", title="Lamps"))
    await database.close()
    await asyncio.to_thread(file.with_name(f"{file.name}.mark").unlink)
    return file
