"""What a test starts is its tier: ``unit`` nothing, ``app`` a store or an app in this process,
``worker`` a process, ``postgres`` a server of it, ``browser`` a browser.

The tier is read off the code that a test and its fixtures reach within ``tests/``: the highest of
what stands in ``STARTERS``. A unit test that starts a process or opens a port all the same, because
the product does, fails and names it; then a mark of the test says what its code does not.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

TIERS = ("unit", "app", "worker", "postgres", "browser")
"""From what costs least to what needs most; a test has one."""

STARTERS = {
    "mem_search.wiring.open_runtime": "app",
    "mem_search.http.core.app.build_app": "app",
    "mem_search.storage.sqlite.database.Database": "app",
    "mem_search.storage.sqlite.store.SqliteStore": "app",
    "http.server": "app",
    "aiohttp.test_utils.TestServer": "app",
    "socketserver": "app",
    "socket.socket": "app",
    "socket.create_server": "app",
    "imap_server": "app",
    "local_server": "app",
    "smtp_server": "app",
    "mem_search.git": "worker",  # it runs Git
    # A source reads documents and databases of others in a process with limits.
    "mem_search.sources.by_name": "worker",
    "mem_search.sources.for_path": "worker",
    "mem_search.sources.files.Files": "worker",
    "mem_search.sources.claude_mem.ClaudeMem": "worker",
    "mem_search.sources.databases": "worker",
    "mem_search.extractors": "worker",
    "homes.Home": "worker",
    "forked": "worker",
    "mem_search.ingest.prepare_process.PrepareProcess": "worker",
    "mem_search.storage.chroma.index": "worker",
    "mem_search.storage.chroma.process": "worker",
    "mem_search.embedders.bundled.BundledEmbedder": "worker",  # it makes its graph in one
    "mem_search.embedders.open_embedder": "worker",
    "subprocess": "worker",
    "multiprocessing": "worker",
    "asyncio.subprocess": "worker",
    "mem_search.storage.postgres.store.PostgresStore": "postgres",
    "postgres_server": "postgres",
    "psycopg": "postgres",
    "selenium": "browser",
}
"""A module, or a name in one, and the tier of a test whose code uses it."""

MAX_TABLE = 60
"""Entries of a table in a test module; what is larger is of a library."""
HERE = str(Path(__file__).parent)
WATCHED = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "socket.bind")

_started: list[str] | None = None
_others: set[threading.Thread] = set()
"""What was started since ``watch`` began; None where nobody watches."""


def tier_of(item: pytest.Function) -> str:
    """The tier of a collected test."""
    from chosen_store import SERVER

    of_marks = [name for name in TIERS if item.get_closest_marker(name)]
    fixtures = item._fixtureinfo.name2fixturedefs  # what pytest found for its parameters
    if "driver" in fixtures:
        return "browser"
    reached = [tier_of_function(item.function)]
    reached += [tier_of_function(each[-1].func) for each in fixtures.values() if each]
    highest = max([*of_marks, *reached], key=TIERS.index)
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if highest != "unit" and "postgres" in [each for each in chosen if isinstance(each, str)]:
        return "postgres"
    return "postgres" if SERVER and highest in ("app", "worker") else highest


@cache
def tier_of_function(function: Any) -> str:
    """The tier of a test or a fixture by its own code."""
    return _of_object(function, set())


def _of_object(thing: Any, seen: set[Any]) -> str:
    """The highest tier of ``thing`` and of what its code in ``tests/`` names."""
    thing = getattr(thing, "__wrapped__", None) or getattr(thing, "func", thing)
    thing = getattr(getattr(thing, "hypothesis", None), "inner_test", thing)
    if isinstance(thing, dict):  # a table of what tests try; ``sys.modules`` is none
        tried = [*thing.values()] if len(thing) <= MAX_TABLE else []
        return max(("unit", *(_of_object(each, seen) for each in tried)), key=TIERS.index)
    try:
        if thing in seen:
            return "unit"
        seen.add(thing)
    except TypeError:  # no name of code, such as a list
        return "unit"
    started = _of_name(_name(thing))
    # Which store a test has is chosen from outside, and ``tier_of`` asks for it.
    if started != "unit" or _name(thing).startswith("chosen_store"):
        return started
    named: list[Any] = []
    if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(HERE):
        used, names = thing.__globals__, _names(thing.__code__)
        named = [used[name] for name in names if name in used]
        modules = [each for each in named if isinstance(each, ModuleType)]
        named += [vars(each)[name] for each in modules for name in names if name in vars(each)]
        started = _of_imports(names)
    elif isinstance(thing, type) and _is_ours(thing):
        named = [getattr(member, "__func__", member) for member in vars(thing).values()]
    return max((started, *(_of_object(each, seen) for each in named)), key=TIERS.index)


def _is_ours(thing: type) -> bool:
    module = sys.modules.get(thing.__module__)
    return str(getattr(module, "__file__", "")).startswith(HERE)


def _name(thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"


@cache
def _of_name(name: str) -> str:
    for start, tier in STARTERS.items():
        if name == start or name.startswith(f"{start}."):
            return tier
    return "unit"


@cache
def _of_imports(names: frozenset[str]) -> str:
    """The tier of what a function imports itself: the module and the name are names of its code."""
    parts = [(*start.rpartition("."), start, tier) for start, tier in STARTERS.items()]
    found = [
        tier
        for module, _, name, start, tier in parts
        if start in names or (module in names and name in names)
    ]
    return max(("unit", *found), key=TIERS.index)


@cache
def _names(code: CodeType) -> frozenset[str]:
    """Each name that the code, or a function within it, uses."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(code.co_names).union(*(_names(each) for each in inner))


@contextmanager
def watch() -> Iterator[list[str]]:
    """Collect what is started until it ends: processes and bound sockets.

    Threads that ran before, such as a worker for other tests of the module, are not of this test.
    """
    global _started, _others
    _others = {*threading.enumerate()} - {threading.current_thread()}
    _started = []
    try:
        yield _started
    finally:
        _started = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _started is None or event not in WATCHED:
        return
    if threading.current_thread() not in _others:
        _started.append(f"{event} {arguments!r:.200}")


sys.addaudithook(_heard)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier, before ``-m`` selects."""
    for item in items:
        if isinstance(item, pytest.Function):
            item.add_marker(tier_of(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A unit test that starts something fails."""
    if not item.get_closest_marker("unit"):
        return (yield)
    with watch() as started:
        reply = yield
    assert not started, f"a unit test started something; name it in STARTERS: {started}"
    return reply
