"""Another user of this machine, who really connects as another user, by every way to the port."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from claude_mem_client import BUN, HOOKS, NODE
from every_route import BODIES, ENDLESS, filled
from http_worker import AUTHORIZED, PAGE, RECORDS, TOKEN, viewer_opened

from mem_search.http.access.browser_sessions import SESSION
from mem_search.http.core.app import build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.routes import ROUTES
from mem_search.model import Filters, Location
from mem_search.platform import IS_LINUX
from mem_search.settings import Settings
from patience import PATIENCE

NEIGHBOUR: Final = 12345
WAYS: Final = ("ipv4", "ipv6", "mapped", "unix", "viewer")
KNOWN: Final = {
    "ref": "observation:1", "number": "1", "name": "known", "job": "x", "operation": "x",
    "session": "x", "receipt": "x",
}  # fmt: skip
ASK: Final = """
import json, os, socket, sys
user = int(sys.argv[1])
if user != os.getuid():
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
for line in sys.stdin:
    asked = json.loads(line)
    place = asked["place"]
    with socket.socket(asked["family"]) as connection:
        connection.settimeout(asked["patience"])
        connection.connect(place if isinstance(place, str) else tuple(place))
        connection.sendall(asked["head"].encode() + asked["body"].encode())
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    print(json.dumps(reply.decode("latin-1")), flush=True)
"""
"""It becomes the user once it runs: another user may not be able to read the interpreter."""

pytestmark = pytest.mark.skipif(
    not IS_LINUX or os.geteuid() != 0,
    reason="only root becomes another user; CI runs as root",
)


@dataclass
class Reply:
    status: int
    head: str
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


class Asker:
    """A program of a user of this machine that sends requests."""

    def __init__(self, user: int, places: Mapping[str, tuple[int, Any, str]]) -> None:
        self._places = places
        self._program = subprocess.Popen(
            [sys.executable, "-I", "-S", "-u", "-c", ASK, str(user)],
            cwd="/", env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    async def ask(
        self, way: str, method: str, path: str, body: object = None, **headers: str
    ) -> Reply:
        family, place, host = self._places[way]
        text = "" if body is None else json.dumps(body)
        lines = {"Host": host, "Connection": "close", "Content-Length": str(len(text.encode())),
                 "Content-Type": "application/json", **headers}  # fmt: skip
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        asked = {
            "family": family, "place": place, "body": text, "patience": PATIENCE,
            "head": f"{method} {path} HTTP/1.1\r\n{head}\r\n",
        }  # fmt: skip
        raw = await asyncio.to_thread(self._sent, json.dumps(asked))
        head, _, rest = raw.partition("\r\n\r\n")
        return Reply(int(head.split()[1]), head, rest)

    def _sent(self, line: str) -> str:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{line}\n")
        self._program.stdin.flush()
        return str(json.loads(self._program.stdout.readline()))

    def end(self) -> None:
        self._program.communicate()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@dataclass
class Machine:
    app: web.Application
    own: Asker
    neighbour: Asker

    @property
    def home(self) -> Path:
        return self.app[LIFECYCLE].settings.home

    async def records(self) -> int:
        page, _ = await self.app[LIFECYCLE].runtime.store.records.page(Filters(), "date_asc", 99, 0)
        return len(page)


@pytest.fixture
async def machine(
    settings: Settings, open_folder: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Machine]:
    """A worker with records, on both loopback addresses and a Unix socket."""
    app = build_app(replace(settings, **getattr(request, "param", {})))
    runner = web.AppRunner(app)
    await runner.setup()
    await app[LIFECYCLE].ready()
    places: dict[str, tuple[int, Any, str]] = {}
    with (
        socket.create_server(("127.0.0.1", 0)) as v4,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as v6,
    ):
        for each in (v4, v6):
            await web.SockSite(runner, each).start()
        path = str(open_folder / "socket")
        await web.UnixSite(runner, path).start()
        os.chmod(path, 0o777)  # noqa: PTH101 - the file lets everybody in, the worker does not
        port, port6 = (each.getsockname()[1] for each in (v4, v6))
        places["ipv4"] = socket.AF_INET, ("127.0.0.1", port), f"127.0.0.1:{port}"
        places["ipv6"] = socket.AF_INET6, ("::1", port6), f"[::1]:{port6}"
        places["mapped"] = socket.AF_INET6, ("::ffff:127.0.0.1", port), f"127.0.0.1:{port}"
        places["unix"] = socket.AF_UNIX, path, "localhost"
        file = open_folder / "records.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), "utf-8")
        await app[LIFECYCLE].runtime.ingest.reader.read(Location("jsonl", str(file)))
        askers = Asker(os.getuid(), places), Asker(NEIGHBOUR, places)
        async with viewer_opened(runner) as origin:
            host, _, own_port = origin.removeprefix("http://").partition(":")
            places["viewer"] = socket.AF_INET, (host, int(own_port)), f"{host}:{own_port}"
            yield Machine(app, *askers)
        for asker in askers:
            asker.end()
        await runner.cleanup()


def told(reply: Reply, machine: Machine) -> list[str]:
    """What of the owner's a reply tells."""
    known = (str(machine.home), TOKEN, *(str(record["text"]) for record in RECORDS),
             *(str(record["title"]) for record in RECORDS if record["title"]))  # fmt: skip
    return [each for each in known if each in reply.head + reply.body]


@pytest.mark.parametrize("way", WAYS)
async def test_a_neighbour_gets_nothing_of_the_owners_on_any_route(
    machine: Machine, way: str
) -> None:
    before = await machine.records()
    for route in ROUTES:
        for body in BODIES.get(route.path, [None]):
            sent = None if route.method in ("GET", "DELETE") or isinstance(body, bytes) else body
            for headers in ({}, BUN, NODE):
                path = filled(route, KNOWN)
                reply = await machine.neighbour.ask(way, route.method, path, sent, **headers)
                assert route.early or reply.status == 401, (route, reply)
                assert told(reply, machine) == [], route
        if route.method == "GET" and not route.write:
            head = await machine.neighbour.ask(way, "HEAD", filled(route, KNOWN))
            assert route.early or head.status == 401, route
    assert await machine.records() == before
    assert not (machine.home / "hooks" / "events").exists()


@pytest.mark.parametrize("way", WAYS)
async def test_a_program_of_the_owner_reads_and_tells_sessions_without_a_token(
    machine: Machine, way: str
) -> None:
    found = await machine.own.ask(way, "GET", "/api/search?query=auth")
    assert found.status == 200
    assert told(found, machine)
    for path, body in (*HOOKS, ("/api/memory/save", {"text": "Ferries are late."})):
        assert (await machine.own.ask(way, "POST", path, body, **BUN)).status == 200
        assert (await machine.neighbour.ask(way, "POST", path, body, **BUN)).status == 401
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    assert (await machine.own.ask(way, "GET", "/api/stats", **forwarded)).status == 401


async def test_a_neighbour_redeems_no_link_and_does_not_use_it_up(machine: Machine) -> None:
    made = await machine.own.ask("unix", "POST", "/api/viewer/links", **AUTHORIZED)
    body = {"code": made.json()["url"].rpartition("/")[2]}
    path = "/api/viewer/sessions"
    for way in WAYS:
        for headers in ({}, PAGE, {"X-Forwarded-For": "192.0.2.1"}):
            assert (await machine.neighbour.ask(way, "POST", path, body, **headers)).status == 401
            own = await machine.own.ask(way, "POST", path, body, **headers)
            if way != "viewer":  # not at the port, which others may have held
                assert own.status == 401
            elif not headers:
                assert own.status == 201


@pytest.mark.parametrize("way", WAYS)
async def test_a_neighbour_cannot_replay_the_session_of_a_browser(
    machine: Machine, way: str
) -> None:
    made = await machine.own.ask("ipv4", "POST", "/api/viewer/links", **AUTHORIZED)
    body = {"code": made.json()["url"].rpartition("/")[2]}
    redeemed = await machine.own.ask("viewer", "POST", "/api/viewer/sessions", body, **PAGE)
    stolen = {SESSION: redeemed.json()["secret"], **PAGE}
    for path in ("/api/export", "/api/v1/tokens", "/api/v1/webhooks/secret", "/api/stats"):
        own = await machine.own.ask(way, "GET", path, **stolen)
        assert own.status == (200 if way == "viewer" else 401)
        for more in ({}, {"X-Forwarded-For": "192.0.2.1"}):
            replayed = await machine.neighbour.ask(way, "GET", path, **stolen, **more)
            assert (replayed.status, told(replayed, machine)) == (401, [])
    token = await machine.neighbour.ask(way, "POST", "/api/v1/tokens", {"name": "x"}, **stolen)
    assert token.status == 401


PRIVATE: Final = {
    "/api/v1/search/jobs", "/api/v1/search/jobs/{id}", "/api/v1/search/sessions/{id}/export",
    "/api/v1/saved-searches", "/api/v1/saved-searches/{name}", "/api/v1/notifications",
    "/api/context/costs", "/api/graph/export", "/api/forget", "/api/forget/{id}",
    "/api/search/export", "/api/search/usage", "/api/v1/shares", "/api/learned",
    "/metrics", "/api/stats", "/api/ledger", "/api/why", "/api/tool-uses",
    "/api/tool-uses/batch", "/api/logs", "/api/settings/dependency-health", "/api/chroma/status",
}  # fmt: skip
"""What nobody but the owner reads, also where neighbours may read the rest."""


@pytest.mark.parametrize("machine", [{"neighbours_read": True}], indirect=True)
@pytest.mark.parametrize("way", WAYS)
async def test_a_setting_lets_neighbours_read_but_for_what_is_the_owners_alone(
    machine: Machine, way: str
) -> None:
    private = {route.path for route in ROUTES if route.private}
    assert private == PRIVATE, "add a new route with private=True to PRIVATE"
    found = await machine.neighbour.ask(way, "GET", "/api/search?query=auth")
    assert (found.status, bool(told(found, machine))) == (200, True)
    for route in ROUTES:
        if route.early or (route.content_type == ENDLESS and not route.write):
            continue
        closed = route.write or route.private or route.login
        reply = await machine.neighbour.ask(way, route.method, filled(route, KNOWN))
        assert (reply.status == 401) == closed, route
        if closed:
            assert told(reply, machine) == [], route


@pytest.mark.parametrize("machine", [{"read_token": True}], indirect=True)
async def test_the_setting_that_demands_the_token_demands_it_of_the_owners_programs_too(
    machine: Machine,
) -> None:
    for way in WAYS:
        assert (await machine.own.ask(way, "GET", "/api/stats")).status == 401
        assert (await machine.own.ask(way, "GET", "/api/stats", **AUTHORIZED)).status == 200


async def test_a_neighbours_token_is_worth_what_it_says(machine: Machine) -> None:
    made = await machine.own.ask(
        "ipv4", "POST", "/api/v1/tokens", {"name": "bob", "user": "bob"}, **AUTHORIZED
    )
    bob = {"Authorization": f"Bearer {made.json()['token']}"}
    for way in WAYS:
        assert (await machine.neighbour.ask(way, "GET", "/api/stats", **bob)).status == 200
        found = await machine.neighbour.ask(way, "GET", "/api/search?query=auth", **bob)
        assert (found.status, told(found, machine)) == (200, [])


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("localhost:1", 200), ("127.0.0.1:80", 200), ("[::1]", 200),
     ("box.lan", 421), ("", 421), ("evil@localhost", 421)],
)  # fmt: skip
async def test_by_a_unix_socket_any_loopback_name_is_ours(
    machine: Machine, host: str, status: int
) -> None:
    assert (await machine.own.ask("unix", "GET", "/api/stats", Host=host)).status == status


@pytest.mark.parametrize("machine", [{"allowed_hosts": ("box.lan",)}], indirect=True)
async def test_what_a_proxy_passes_on_for_a_public_name_needs_a_token_by_a_unix_socket_too(
    machine: Machine,
) -> None:
    for more, status in (({}, 401), (AUTHORIZED, 200)):
        reply = await machine.own.ask("unix", "GET", "/api/stats", Host="box.lan", **more)
        assert reply.status == status
