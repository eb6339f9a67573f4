"""Rules of secrets that are compiled when a test says so, as on a machine that is busy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from mem_search.text import secret_rules
from patience import PATIENCE


@contextmanager
def gate() -> Iterator[threading.Event]:
    """Nothing is compiled until the event is set, or the block ends."""
    compiled, may_compile = secret_rules._loaded, threading.Event()

    @cache
    def loaded() -> Any:
        may_compile.wait(PATIENCE)
        return compiled()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_rules, "_loaded", loaded)
        secret_rules._compiling.cache_clear()
        try:
            yield may_compile
        finally:
            may_compile.set()
            secret_rules.load()
            secret_rules._compiling.cache_clear()
