"""Homes for the command line: one without a model, one as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from homes import Home, make, quick


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    """A home for tests of everything but the model: quick to start."""
    home = quick(tmp_path)
    yield home
    home.end()


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Home]:
    """A home as it comes: the bundled model and a Chroma of its own."""
    home = make(tmp_path)
    yield home
    home.end()
