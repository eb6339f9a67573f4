"""A package of a third party adds a kind, a source and routes; all works with it and without it.

The package is a distribution as Python sees it: a module beside ``NAME.dist-info`` on the path of
the real processes. One test lets pip build and install it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forked import SOURCE
from homes import Home, make
from patience import PATIENCE

pytestmark = pytest.mark.worker

MODULE = '''
"""Support tickets: a kind, and a source that reads them from files of JSON lines."""

import json

from mem_search.contracts import FileFormat
from mem_search.model import Draft
from mem_search.records.base import BaseKind, Metadata
from mem_search.sources.base import BaseSource, BatchBuilder


class TicketMetadata(Metadata):
    status: str | None = None


class Ticket(BaseKind[TicketMetadata]):
    name = "ticket"
    plural = "tickets"
    label = "Ticket"
    aliases = ("issue_report",)
    sign = "🎫"
    model = TicketMetadata
    filterable = (("status", "status"),)


class Tickets(BaseSource):
    name = "acme-tickets"
    file_format = FileFormat((".tickets",))

    def read(self, location, cursor):
        with open(location.path) as lines:
            found = BatchBuilder()
            for line in lines:
                said = json.loads(line)
                found.take(Draft("ticket", self.name, str(said.pop("id")), **said))
            yield found.build({}, 0)


TICKETS = Tickets()
'''
ROUTES = '''
"""Routes for the desk where tickets are answered; its own program also reads the ledger of ours."""

from dataclasses import replace

from multidict import MultiDict

from mem_search.http.core.clients import Mount, Tolerated
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Route
from mem_search.model import Filters
from mem_search.renderers.schema import Count, schema


@schema
class Waiting:
    """How many tickets there are."""

    tickets: Count


async def waiting(call):
    filters = Filters(kinds=("ticket",))
    _, total = await call.runtime.store.records.page(filters, "date_desc", 1, 0)
    return json_reply(Waiting(tickets=total))


class Desk:
    """The desk names itself, and sends parameters that nobody else knows."""

    shared = frozenset({"/api/records/{ref}"})

    def is_one(self, request):
        return "X-Acme-Desk" in request.headers

    def read_query(self, request, model):
        return MultiDict(), Tolerated(("desk",))

    def read_body(self, request, model, body):
        return body


SHOW = Route("GET", "/api/tickets/waiting", waiting, "Count tickets", "tickets", response=Waiting)
CLOSE = replace(SHOW, method="POST", path="/api/tickets/close", write=True)
MOUNT = Mount(lambda: (SHOW, CLOSE, replace(SHOW, path="/api/ledger")), Desk())
'''
ENTRY_POINTS = """
[mem_search.routes]
desk = acme_routes:MOUNT
[mem_search.records]
tickets = acme_tickets:Ticket

[mem_search.sources]
acme-tickets = acme_tickets:TICKETS
"""
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-tickets"
version = "1.0"

[project.entry-points."mem_search.records"]
tickets = "acme_tickets:Ticket"

[project.entry-points."mem_search.sources"]
acme-tickets = "acme_tickets:TICKETS"

[tool.hatch.build.targets.wheel]
only-include = ["acme_tickets.py"]
"""
TICKETS = [
    {
        "id": 7,
        "title": "The lighthouse is dark",
        "text": "Since Tuesday the lantern of the lighthouse does not burn. See note:1.",
        "created_at": 1_760_000_000_000,
        "project": "harbour",
        "metadata": {"status": "open", "author": "Ada Lovelace"},
    },
    {
        "id": 8,
        "title": "Invoice twice",
        "text": "We got the same invoice two times and want one of them cancelled.",
        "created_at": 1_750_000_000_000,
        "project": "office",
        "metadata": {"status": "closed"},
    },
]
QUESTION = "lantern lighthouse"


@dataclass(frozen=True)
class Office:
    """A home whose processes see the folder ``packages``, and a file of tickets."""

    home: Home
    packages: Path
    tickets: Path

    def ok(self, *argv: str, given: str = "") -> str:
        return self.home.ok(*argv, given=given)

    def reply(
        self, path: str, body: object = None, accept: str = "application/json", **headers: str
    ) -> Any:
        """The reply of the worker, as JSON or text."""
        request = urllib.request.Request(
            f"{self.home.worker()['url']}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json", "Accept": accept, **headers},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            said = reply.read().decode()
        return json.loads(said) if accept == "application/json" else said

    def refusal(self, path: str, body: object = None) -> int:
        """The status of a request that is refused."""
        with pytest.raises(urllib.error.HTTPError) as refused:
            self.reply(path, body)
        refused.value.close()
        return refused.value.code

    def refs(self, path: str, body: object = None) -> list[str]:
        """The refs of the results of a search."""
        said = self.reply(path, body)
        found = said.get("results", said.get("items", said.get("data", {}).get("items")))
        names = [each.get("ref") or each.get("id") or each["memory"]["id"] for each in found]
        return [str(name).removeprefix("local:") for name in names]

    def tool(self, name: str, **arguments: object) -> Any:
        """The answer of an MCP tool."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        params = {"name": name, "arguments": arguments}
        result = self.reply("/mcp", {**call, "params": params})["result"]
        return json.loads(result["content"][0]["text"])

    def restart(self) -> None:
        self.ok("worker", "restart")


def distribution(folder: Path) -> None:
    """The installed package, as pip leaves it."""
    folder.mkdir(exist_ok=True)
    (folder / "acme_tickets.py").write_text(MODULE)
    (folder / "acme_routes.py").write_text(ROUTES)
    info = folder / "acme_tickets-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tickets\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


def remove(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@contextmanager
def office(folder: Path) -> Iterator[Office]:
    folder.mkdir()
    packages, tickets = folder / "packages", folder / "support.tickets"
    distribution(packages)
    tickets.write_text("".join(json.dumps(each) + "\n" for each in TICKETS))
    home = make(
        folder,
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        PYTHONPATH=f"{SOURCE}:{packages}",
    )
    try:
        yield Office(home, packages, tickets)
    finally:
        home.end()


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path / "acme") as acme:
        acme.ok("import", "-", "--source", "jsonl", given='{"kind": "note", "text": "Oil it."}')
        acme.ok("import", str(acme.tickets))
        yield acme


def searches(acme: Office) -> dict[str, list[str]]:
    """Search → the refs that it finds for the question, which only one ticket answers."""
    words, plain = {"query": QUESTION}, f"query={QUESTION.replace(' ', '+')}&format=json"
    named = acme.tool("search", query=QUESTION)["results"][:1]
    return {
        "keyword": acme.refs(f"/api/search?{plain}&mode=keyword"),
        "vector": acme.refs(f"/api/search?{plain}&mode=vector&limit=1"),
        "hybrid": acme.refs(f"/api/search?{plain}&mode=hybrid&limit=1"),
        "unified": acme.refs("/api/search/unified?query=lantern&format=json"),
        "v1": acme.refs("/api/v1/search", words),
        "v2 hybrid": acme.refs("/api/v2/search/hybrid", words | {"limit": 1}),
        "v2 vector": acme.refs("/api/v2/search/vector", words | {"limit": 1}),
        "mcp": [each["id"].removeprefix("local:") for each in named],
        "export": [line.split(",")[0] for line in exported(acme, plain)],
    }


def narrowed(acme: Office) -> dict[str, list[str]]:
    """Search by kind → the refs that it finds: where the kind is installed, it can be named."""
    words = {"query": QUESTION}
    named = acme.tool("search_local_knowledge", query="lantern", content_types=["tickets"])
    named = named["results"]
    return {
        "route": acme.refs("/api/search/tickets?query=lantern&format=json"),
        "types": acme.refs("/api/search?query=lantern&types=issue_report&format=json"),
        "field": acme.refs("/api/search?query=kind:ticket+lantern&format=json"),
        "facet": acme.refs("/api/v1/search", {"query": "kind:tickets lantern"}),
        "v1": acme.refs("/api/v1/search", words | {"content_types": ["ticket"]}),
        "v2": acme.refs("/api/v2/search/hybrid", words | {"source_types": ["api_import"]})[:1],
        "mcp": [each["id"].removeprefix("local:") for each in named],
        "command": [json.loads(acme.ok("tickets", "lantern", "--json"))["results"][0]["ref"]],
        "option": [
            json.loads(acme.ok("search", "lantern", "--kind", "tickets", "--json"))["results"][0][
                "ref"
            ]
        ],
    }


def exported(acme: Office, question: str) -> list[str]:
    path = f"/api/search/export?{question.replace('&format=json', '')}&as=csv&limit=1"
    return str(acme.reply(path, accept="text/csv")).splitlines()[1:2]


def test_its_records_are_found_opened_cited_exported_and_forgotten(
    acme: Office, tmp_path: Path
) -> None:
    (ref,) = acme.refs("/api/search/tickets?query=lantern&format=json")
    assert ref.startswith("ticket:")
    for _ in range(2):
        assert set(map(tuple, searches(acme).values())) == {(ref,)}
        assert set(map(tuple, narrowed(acme).values())) == {(ref,)}
        acme.restart()

    assert acme.reply(f"/api/records/{ref}")["metadata"]["status"] == "open"
    assert acme.tool("fetch", id=f"local:{ref}")["title"] == "The lighthouse is dark"
    assert "The lighthouse is dark" in acme.reply(f"/v/{ref}", accept="text/html")
    assert "🎫" in acme.ok("get", ref)
    assert "🎫 Ticket" in acme.ok("unified", "lantern")
    assert "2  ticket\n" in acme.ok("stats")
    assert "Lovelace" in acme.ok("cite", ref)

    (line,) = acme.ok("export", "--kind", "tickets", "--project", "harbour").splitlines()
    with office(tmp_path / "branch") as branch:
        branch.ok("import", "-", "--source", "jsonl", given=f"{line}\n")
        (there,) = branch.refs("/api/search/tickets?query=lantern&format=json")
        opened = branch.reply(f"/api/records/{there}")
        assert opened["source"] == "acme-tickets"
        remove(branch.packages)
        branch.restart()
        branch.home.run("import", "-", "--source", "jsonl", given=f"{line}\n")
        assert "kind: input should be 'observation', " in branch.ok("ledger")

    acme.ok("delete", ref, "--yes")
    assert acme.refs("/api/search/tickets?query=lantern&format=json") == []
    acme.ok("sync", "acme-tickets", str(acme.tickets), "--again")
    assert acme.refs("/api/search/tickets?query=lantern&format=json") == []


def test_the_store_answers_when_the_package_is_removed(acme: Office) -> None:
    before = searches(acme)
    remove(acme.packages)
    acme.restart()

    assert searches(acme) == before
    ref = before["keyword"][0]
    assert "Ticket" in acme.ok("get", ref)
    assert acme.tool("fetch", id=f"local:{ref}")["title"] == "The lighthouse is dark"
    assert "Lovelace" in acme.ok("cite", ref)
    assert len(acme.ok("export").splitlines()) == 3
    assert "2  ticket (not installed)" in acme.ok("stats")
    assert "kind ticket" in acme.home.run("doctor").stdout
    assert "The lighthouse is dark" in acme.home.run("tickets", "lantern").stdout  # words
    assert (
        "no kind of record is called 'tickets'"
        in acme.home.run("search", "x", "--kind", "tickets").stderr
    )
    acme.ok("delete", ref, "--yes")
    assert acme.refs("/api/search?query=lantern&mode=keyword&format=json") == []

    distribution(acme.packages)
    acme.restart()
    assert acme.refs("/api/search/tickets?query=invoice&mode=keyword&format=json")


def test_its_routes_stand_beside_ours_and_its_clients_use_ours_in_their_way(acme: Office) -> None:
    assert acme.reply("/api/tickets/waiting") == {"tickets": 2}
    described = acme.reply("/openapi.json")["paths"]
    assert described["/api/tickets/waiting"]["get"]["summary"] == "Count tickets"
    assert acme.refusal("/api/tickets/close", {}) == 401  # a route says who may call it as ours do

    (ref,) = acme.refs("/api/search/tickets?query=lantern&format=json")
    assert acme.refusal(f"/api/records/{ref}?desk=3") == 422
    desk = {"X-Acme-Desk": "3"}
    assert acme.reply(f"/api/records/{ref}?desk=3", **desk)["ref"] == ref
    assert acme.reply("/api/ledger", **desk) == {"tickets": 2}
    assert acme.reply("/api/ledger")["entries"]
    assert acme.reply("/api/stats")["broken_plugins"] == []


def test_pip_installs_it(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    project, target = tmp_path / "project", tmp_path / "target"
    project.mkdir()
    (project / "acme_tickets.py").write_text(MODULE)
    (project / "pyproject.toml").write_text(PYPROJECT)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run(
        [*pip, *offline, str(project)], check=True, capture_output=True, timeout=PATIENCE
    )
    home = make(tmp_path, PYTHONPATH=f"{SOURCE}:{target}")
    assert "tickets" in home.ok("--help")
    assert "Search tickets." in home.ok("tickets", "--help")
