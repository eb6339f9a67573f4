"""The door by which packages bring routes: for claude-mem's clients, and those of third parties.

An entry point that cannot be used is logged, named by ``GET /api/stats``, and left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from mem_search.features.claude_mem.clients import MOUNT
from mem_search.http.core.clients import Clients, Mount
from mem_search.http.core.routing import Route

log = logging.getLogger(__name__)

ENTRY_POINTS: Final = "mem_search.routes"
BUILT_IN: Final = (MOUNT,)


class Mounts:
    """What is mounted. ``broken`` says which entry points are left out, and why."""

    def __init__(self, built_in: Iterable[Mount], entries: Iterable[EntryPoint]) -> None:
        self.broken: list[str] = []
        self._mounts: list[tuple[str, Mount]] = [("", mount) for mount in built_in]
        for entry in entries:
            try:
                self._mounts.append((entry.name, self._checked(entry.load())))
            except Exception as error:  # noqa: BLE001 - foreign code may raise anything
                self._leave_out(entry.name, error)

    def with_clients(self, routes: Iterable[Route]) -> tuple[Route, ...]:
        """The routes, where those that clients of a mount share know them."""
        users = self._users()
        return tuple(
            replace(each, clients=users[each.path]) if each.path in users else each
            for each in routes
        )

    def with_routes(self, routes: Iterable[Route]) -> tuple[Route, ...]:
        """The routes ``with_clients``, then those of all mounts."""
        whole = {(route.method, route.path): route for route in self.with_clients(routes)}
        for name, mount in self._mounts:
            try:
                added = dict(_added(mount, whole))
            except Exception as error:
                if not name:  # ours: a defect
                    raise
                self._leave_out(name, error)
            else:
                whole |= added
        return tuple(whole.values())

    def _users(self) -> dict[str, Clients]:
        """Path → the clients that share it."""
        known = (mount.clients for _, mount in self._mounts if mount.clients is not None)
        return {path: clients for clients in known for path in clients.shared}

    def _checked(self, loaded: object) -> Mount:
        if not isinstance(loaded, Mount):
            raise TypeError(f"{loaded!r:.60} is not a mem_search.http.core.clients.Mount")
        shared = frozenset() if loaded.clients is None else loaded.clients.shared
        if taken := shared & self._users().keys():
            raise ValueError(f"{min(taken)} is shared with the clients of another program already")
        return loaded

    def _leave_out(self, name: str, error: Exception) -> None:
        self.broken.append(
            f"{ENTRY_POINTS} entry point {name!r} cannot be loaded"
            f" ({str(error) or type(error).__name__}); correct its package and install it again,"
            " or uninstall it"
        )
        log.error("%s", self.broken[-1])


def _added(
    mount: Mount, own: dict[tuple[str, str], Route]
) -> Iterator[tuple[tuple[str, str], Route]]:
    """The routes of ``mount`` by method and path. Raises ValueError for one that cannot be added.

    One that is called like one of ``own`` answers the clients of the mount in its place.
    """
    for route in mount.routes():
        if not isinstance(route, Route) or not route.path.startswith("/"):
            raise TypeError(f"{route!r:.60} is not a route")
        key = route.method, route.path
        if key not in own:
            is_shared = mount.clients is not None and route.path in mount.clients.shared
            yield key, replace(route, clients=mount.clients) if is_shared else route
        elif mount.clients is None or own[key].for_clients is not None:
            raise ValueError(f"there is a route {route.method} {route.path} already")
        else:
            yield key, replace(own[key], clients=mount.clients, for_clients=route)


@cache
def installed() -> Mounts:
    """The mounts of this process."""
    return Mounts(BUILT_IN, entry_points(group=ENTRY_POINTS))
