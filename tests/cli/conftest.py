"""A home for the command line as it comes, beside those of ``tests/conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from homes import Home, make


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """The command line is made from its declarations once, not for each call of ``app.main``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Home]:
    """A home as it comes: the bundled model and a Chroma of its own."""
    home = make(tmp_path)
    yield home
    home.end()
