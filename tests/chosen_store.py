"""The store under test: SQLite, or PostgreSQL with ``MEM_SEARCH_TEST_STORE=postgres``.

So a suite that knows no store runs over either.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from postgres_server import address

SERVER = os.environ.get("MEM_SEARCH_TEST_STORE", "sqlite") != "sqlite"
in_a_file = pytest.mark.skipif(SERVER, reason="the store is not a file")


def of_home(home: Path) -> dict[str, Any]:
    """The settings of the store of ``home``; on a server each home is an owner of its own."""
    return {"store": address(), "store_owner": str(home)} if SERVER else {}
