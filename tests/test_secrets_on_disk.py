"""No secret that comes in by any way is on disk, in any file of the home, raw or decoded."""

from __future__ import annotations

import html
import json
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest

from homes import Home, make
from patience import PATIENCE
from secret_shapes import SHAPES, Shape, shapes

pytestmark = pytest.mark.worker

OURS = {
    "meta": "key value",
    "archives": "schedule statistics",
    "cites": "form",
    "column_blocks": "of",
    "mem_search_migrations": "name applied_at",
    "embedding_models": "fingerprint name",
    "outbox": "step",
    "notifications": "delivery_id email_delivery_id",
    "mirror_states": "digest key fate said machine seen line learned",
    "granted_requests": "policy",
    "records": "kind",
    "facets": "name",
    "edges": "origin",
    "forget_receipts": "id pending removed waiting copies",
    "forget_records": "receipt",
    "forget_traces": "sort value",
    "passages": "kind field parts",
    "cursors": "source",
    "ledger": "source outcome",
    "jobs": "id name state",
    "search_jobs": "id delivery_id status step surface",
    "search_log": "filters mode surface",
    "search_operations": "id parent_id type mode content_types results report index_state",
    "webhook_deliveries": "id event state",
    "login_sessions": "id browser",
    "project_changes": "what",
}
"""Table → columns with ids, states and names that we write ourselves."""

BY_PORT = {
    "clicks": "query",  # a question with a secret is not noted at all
    "archives": "name",
    "cursors": "cursor options label error",
    "granted_requests": "budget",
    "ledger": "item reason",
    "jobs": "message",
    "search_jobs": "error",
    "project_changes": "before after",
    "project_marks": "mark",
    "projects": "name folder root",
    "saved_searches": "name error schedule email",
    "mirrors": "folder state error",
    "scopes": "name",
    "tokens": "name user scope shared_with",
    "webhook_deliveries": "error",
}
"""Columns that take a secret only in rare ways, or refuse it: test_redacted_store has them."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = make(
        tmp_path,
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        MEM_SEARCH_LOG_LEVEL="DEBUG",
    )
    yield home
    home.end()


class Api:
    """Requests to the worker of a home, with its token."""

    def __init__(self, home: Home) -> None:
        self.url = str(home.worker()["url"])
        self.token = (home.path / "token").read_text().strip()

    def __call__(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else None if body is None else _json(body)
        kind = "x-ndjson" if isinstance(body, bytes) else "json"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": f"application/{kind}"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return reply.status, json.loads(reply.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def done(self, job: str) -> dict[str, Any]:
        """The job once it has ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            _, state = self("GET", f"/api/jobs/{job}")
            if state["state"] in ("done", "failed", "cancelled"):
                return dict(state)
            assert time.monotonic() < deadline, state
            time.sleep(0.05)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _records(name: str, shape: Shape) -> Iterator[dict[str, Any]]:
    """A record for each field that takes text from outside; each holds the secret in that field."""
    text, key = shape.text, name.replace(" ", "-")
    yield {"text": f"note on {key}: {text} ends"}
    yield {"title": f"title {text} ends"}
    yield {"project": f"p {text}"}
    yield {"session": f"s {text}"}
    yield {"source": f"o {text}"}
    yield {"source_id": f"{key} {text}"}
    yield {"url": f"https://example.org/{key}?x={text}"}
    yield {"tags": [f"t {text}", "plain"]}
    yield {"links": [{"to": f"https://example.org/{text}", "relation": f"r {text}"}]}
    yield {"metadata": {"author": f"A {text}", "deep": [{"er": {f"k {text}": [text]}}]}}
    yield {"metadata": {"password": shape.secret, "branch": f"b/{text}"}}
    yield {"metadata": {"description": f"It is about {text}"}}  # its summary
    yield {"text": f"escaped {quote(text)} and {html.escape(text)} {name}"}
    yield {"metadata": {"cut": [text, 5, {"secret": {"value": shape.secret}}]}}
    yield {"kind": f"k {text}"}  # no such kind: its line is in the ledger
    yield {"importance": text}


def _everything(api: Api, home: Home) -> None:
    lines = [
        {"kind": "note", "text": f"plain {name} {at}"} | record
        for name, shape in SHAPES.items()
        for at, record in enumerate(_records(name, shape))
    ]
    status, reply = api("POST", "/api/import/jsonl", b"\n".join(map(_json, lines)))
    assert status == 202
    done = api.done(reply["job"])
    assert done["state"] == "done", done
    (read,) = done["result"]["locations"]
    assert read["failed"] == 2 * len(SHAPES), read
    assert read["new"] == len(lines) - 2 * len(SHAPES), read

    # Those that are known alone: as the name of a file nothing stands before them.
    alone = [(name, shape) for name, shape in SHAPES.items() if shape.template == "{}"]
    for seed, (name, shape) in enumerate(alone[::5]):
        secret, said = quote(shape.secret, safe=""), f"where is {shape.text}"
        file = shape.secret.replace("/", "_")[:120]
        upload = f"/api/import/upload?source=jsonl&name={quote(file.splitlines()[0])}"
        api.done(api("POST", upload, _json({"kind": "note", "text": f"up {seed}"}))[1]["job"])
        path = home.path.parent / f"{file.splitlines()[0]}.jsonl"
        path.write_bytes(_json({"kind": "note", "text": f"by path {name}", "source_id": name}))
        assert (
            api.done(api("POST", "/api/import", {"path": str(path)})[1]["job"])["state"] == "done"
        )
        reports, pages = path.with_suffix(".reports"), path.with_suffix(".pages")
        reports.mkdir()
        pages.mkdir()
        folders = {"researchPath": str(reports), "urlContentPath": str(pages)}
        status, reply = api("POST", "/api/archive/index", {"name": f"archive-{seed}", **folders})
        assert status == 202, reply
        assert api("GET", f"/api/search?query={quote(said)}&project={secret}")[0] == 200
        deep = {"query": said, "mode": "deep_research", "folder": f"f {shape.text}"}
        assert (
            api("POST", "/api/v1/search", deep | {"session_id": f"s {shape.secret}"[:200]})[0]
            == 200
        )
        webhook = f"https://hooks.example.org/{secret}"
        status, job = api(
            "POST", "/api/v1/search", {"query": said, "background": True, "webhook_url": webhook}
        )
        assert status in (200, 202), job
        saved = {"name": f"saved-{seed}", "search": {"query": said}, "webhook_url": webhook}
        assert api("POST", "/api/v1/saved-searches", saved)[0] == 201
        assert api("GET", f"/api/v1/saved-searches/saved-{seed}")[1]["webhook_url"] == webhook
        api("POST", f"/api/v1/saved-searches/saved-{seed}/run")
        api("PUT", f"/api/v1/scopes/scope-{seed}", {"filter": f'project:"p {secret}"'})
        for route in ("saved-searches", "tokens"):
            body = {"name": shape.secret[:60], "user": shape.secret[:30].lower()}
            api("POST", f"/api/v1/{route}", body | ({"search": {"query": "x"}} if seed else {}))
        api("PUT", f"/api/v1/scopes/{secret}", {"filter": "tag:x"})
        api("GET", f"/api/{secret}?token={secret}")
        api("POST", "/api/sync", {"source": "git", "path": f"/nowhere/{secret}"})
    api("DELETE", "/api/records/note:1")
    _wait_for_log(api)


def _wait_for_log(api: Api) -> None:
    """Reading the log stores what waits for it."""
    assert api("GET", "/api/search/popular?limit=50")[0] == 200


def _forms(secret: str) -> set[bytes]:
    """The bytes in which a file may have the secret: as it is, in JSON, in a URL."""
    raw = secret.encode()
    return {raw, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode()}


def _found(folder: Path) -> dict[str, list[str]]:
    """File → the names of the shapes whose secret is in it."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            both = data + b"\0" + unquote_to_bytes(data)
            names = [
                name
                for name, shape in SHAPES.items()
                if any(form in both for form in _forms(shape.secret))
            ]
            if names:
                found[file.name] = names
    return found


def test_no_byte_of_the_home_has_a_secret(home: Home) -> None:
    """The bar: none of 60 shapes in 8 fields, in any byte of the home."""
    assert len(SHAPES) >= 60
    assert len(list(_records("any", next(iter(SHAPES.values()))))) >= 8
    home.ok("worker", "start")
    api = Api(home)
    _everything(api, home)
    assert _found(home.path) == {}
    columns = _columns_without_marker(home.path / "mem-search.db")
    home.ok("worker", "restart")
    assert Api(home)("GET", "/api/v1/saved-searches/saved-0")[1]["webhook_url"]
    home.ok("worker", "stop")
    assert _found(home.path) == {}
    assert columns == set(), "how does a secret get into these columns?"


def _columns_without_marker(file: Path) -> set[str]:
    """TEXT columns of tables in which nothing was redacted."""
    missing = set()
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute(
            "select name from sqlite_schema where type = 'table' and sql not like '%virtual%'"
            " and name not like '%_fts%' and name not like 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            known = f"{OURS.get(table, '')} {BY_PORT.get(table, '')}".split()
            for _, column, kind, *_ in connection.execute(f"pragma table_info({table})").fetchall():
                if kind.upper() != "TEXT" or column in known:
                    continue
                hit = connection.execute(
                    f"select 1 from {table} where {column} like '%[redacted:%'"
                    f" or {column} like 'sealed:%' limit 1"
                ).fetchone()
                if hit is None:
                    missing.add(f"{table}.{column}")
    return missing


def test_equal_secrets_are_equal_names_and_others_are_not() -> None:
    names = {shapes(seed)["github pat"].secret for seed in range(20)}
    assert len(names) == 20
