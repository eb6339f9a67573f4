"""A stand-in for Notion's API on loopback: the documented shapes, in pages of its own size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import local_server

TOKEN = "ntn_stand_in"
EDITED = "2025-03-01T10:00:00.000Z"


def rich(text: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "plain_text": text, "href": None, **more}]


def block(kind: str, text: str = "", *, id: str = "", **body: Any) -> dict[str, Any]:  # noqa: A002
    said = {"rich_text": rich(text), **body} if text else body
    return {"object": "block", "id": id or f"b-{kind}", "type": kind, "has_children": bool(id),
            kind: said}  # fmt: skip


@dataclass
class Workspace:
    """What is shared with the token; ``asked`` has every request, ``busy`` its next refusals."""

    url: str = ""
    authority: str = ""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    children: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unlisted: set[str] = field(default_factory=set)
    busy: list[tuple[int, str]] = field(default_factory=list)
    at_once: int = 2
    asked: list[tuple[str, str]] = field(default_factory=list)

    def page(self, id: str, title: str, *blocks: dict[str, Any], **more: Any) -> None:  # noqa: A002
        named = more.pop("properties", {})
        self.objects[id] = {
            "object": "page", "id": id, "created_time": "2025-01-01T09:00:00.000Z",
            "last_edited_time": EDITED, "archived": False, "in_trash": False,
            "parent": {"type": "workspace", "workspace": True},
            "url": f"https://www.notion.so/{id}",
            "properties": {"Name": {"type": "title", "title": rich(title)}, **named}, **more,
        }  # fmt: skip
        self.children[id] = list(blocks)

    def database(self, id: str, title: str, **more: Any) -> None:  # noqa: A002
        self.objects[id] = {
            "object": "database", "id": id, "created_time": EDITED, "last_edited_time": EDITED,
            "archived": False, "in_trash": False, "title": rich(title), "description": [],
            "parent": {"type": "workspace", "workspace": True}, "properties": {"Name": {}},
            "url": f"https://www.notion.so/{id}", **more,
        }  # fmt: skip

    def answer(self, method: str, path: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        parts = path.strip("/").split("/")
        match (method, *parts):
            case ("POST", "v1", "search"):
                assert given["sort"]["timestamp"] == "last_edited_time"
                order = sorted(self.objects.values(), key=lambda each: each["last_edited_time"])
                listed = [each for each in reversed(order) if each["id"] not in self.unlisted]
                return self._list(listed, given)
            case ("POST", "v1", "databases", id, "query"):
                rows = [each for each in self.objects.values()
                        if each["parent"].get("database_id") == id]  # fmt: skip
                return self._list(rows, given)
            case ("GET", "v1", "blocks", id, "children") if id in self.children:
                return self._list(self.children[id], given)
            case ("GET", "v1", "pages" | "databases" as kind, id) if id in self.objects:
                if self.objects[id]["object"] == kind.removesuffix("s"):
                    return 200, self.objects[id]
        return 404, {"object": "error", "status": 404, "code": "object_not_found", "message": "no"}

    def _list(
        self, items: list[dict[str, Any]], given: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        start = int(given.get("start_cursor") or 0)
        end = start + min(int(given["page_size"]), self.at_once)
        more = end < len(items)
        return 200, {"object": "list", "results": items[start:end], "has_more": more,
                     "next_cursor": str(end) if more else None}  # fmt: skip


@contextmanager
def serving() -> Iterator[Workspace]:
    """A workspace until the block ends."""
    workspace = Workspace()

    class Answering(local_server.Handler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            self._answer({name: values[0] for name, values in asked.items()})

        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            self._answer(json.loads(self.given()))

        def _answer(self, given: dict[str, Any]) -> None:
            path = urlsplit(self.path).path
            workspace.asked.append((self.command, path))
            retry = ""
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                status, reply = 401, {"object": "error", "status": 401, "code": "unauthorized"}
            elif not self.headers["Notion-Version"]:
                status, reply = 400, {"object": "error", "status": 400, "code": "missing_version"}
            elif workspace.busy:
                status, retry = workspace.busy.pop(0)
                reply = {"object": "error", "status": status, "code": "rate_limited"}
            else:
                status, reply = workspace.answer(self.command, path, given)
            later = {"Retry-After": retry} if retry else {}
            self.reply(json.dumps(reply).encode(), status, **later)

    with local_server.serving(Answering) as server:
        workspace.authority = f"127.0.0.1:{server.server_port}"
        workspace.url = server.url
        yield workspace
