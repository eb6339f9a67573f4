"""What a package mounts has to be new, and what cannot be mounted is left out and named."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from aiohttp import web

from mem_search.features.claude_mem.clients import CLIENTS, MOUNT
from mem_search.http.core.clients import Mount
from mem_search.http.core.replies import text_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.mounts import BUILT_IN, ENTRY_POINTS, Mounts
from mem_search.http.routes import ROUTES


async def _hello(call: Call) -> web.StreamResponse:
    return text_reply(call.request, "hello")


HELLO = Route("GET", "/api/hello", _hello, "Say hello", "hello")
OURS = replace(HELLO, path="/api/sync", method="POST")

GOOD = Mount(lambda: (HELLO,))
TAKEN = Mount(lambda: (HELLO, OURS))
FAILING = Mount(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
NO_ROUTES = Mount(lambda: ("/api/hello",))  # type: ignore[arg-type, return-value]
RIVAL = Mount(lambda: (HELLO,), CLIENTS)


def _mounts(*names: str) -> Mounts:
    return Mounts(
        BUILT_IN, [EntryPoint(name, f"{__name__}:{name}", ENTRY_POINTS) for name in names]
    )


def _own() -> tuple[Route, ...]:
    """Routes without those that are mounted."""
    theirs = {(route.method, route.path) for route in MOUNT.routes()}
    return tuple(
        replace(route, clients=None, for_clients=None)
        for route in ROUTES
        if (route.method, route.path) not in theirs or route.for_clients is not None
    )


def test_what_is_built_in_comes_by_the_same_door() -> None:
    assert set(_mounts().with_routes(_own())) == set(ROUTES)


def test_a_route_of_the_mount_that_its_clients_share_knows_them() -> None:
    (found,) = [route for route in ROUTES if route.path == "/api/tool-uses"]
    assert found.clients is CLIENTS


def test_routes_of_a_package_come_after_ours() -> None:
    mounts = _mounts("GOOD")
    assert mounts.with_routes(_own()) == (*_mounts().with_routes(_own()), HELLO)
    assert mounts.broken == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("MISSING", "has no attribute 'MISSING'"),
        ("HELLO", "is not a mem_search.http.core.clients.Mount"),
        ("TAKEN", "there is a route POST /api/sync already"),
        ("FAILING", "division by zero"),
        ("NO_ROUTES", "'/api/hello' is not a route"),
        ("RIVAL", "is shared with the clients of another program already"),
    ],
)
def test_what_cannot_be_mounted_is_left_out_and_named(name: str, reason: str) -> None:
    mounts = _mounts(name)
    assert mounts.with_routes(_own()) == _mounts().with_routes(_own())
    (broken,) = mounts.broken
    assert f"mem_search.routes entry point {name!r} cannot be loaded" in broken
    assert reason in broken
    assert "correct its package" in broken
