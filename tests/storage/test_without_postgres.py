"""PostgreSQL is asked for, and the extra with its driver is not installed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mem_search.settings import Settings
from mem_search.storage.sqlite.store import SqliteStore

ADDRESS = "postgresql://somebody@localhost:1/nowhere"
WITHOUT = "import sys; sys.modules['psycopg'] = None; from mem_search.__main__ import main; main()"
SAID = "PostgreSQL needs the Python package psycopg"


@pytest.mark.parametrize(
    ("command", "store"),
    [
        (["migrate", "store", "--to", ADDRESS], ""),
        (["migrate", "store", "--to", "file"], ADDRESS),
        (["doctor"], ADDRESS),
    ],
)
def test_a_command_names_the_extra(tmp_path: Path, command: list[str], store: str) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    asyncio.run(_new_store(tmp_path / "home"))
    home = {"HOME": str(tmp_path), "MEM_SEARCH_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *command],
        env={**os.environ, **home, "MEM_SEARCH_STORE": store, "MEM_SEARCH_PORT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode
    assert SAID in said
    assert "install mem-search[postgres]" in said
    assert "Traceback" not in said


async def _new_store(home: Path) -> None:
    store = await SqliteStore.open(Settings(home=home).database)
    await store.close()
