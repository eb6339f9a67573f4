"""Every request that a contract page shows is sent to the real app: it answers as the page says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import FormData
from http_worker import AUTHORIZED, Client
from yarl import URL

PAGES = Path(__file__).parents[2] / "docs" / "contracts"
OF_PLANS = ("archives", "hybrid-search", "personal-documents", "unified-search", "universal-search")
"""The pages with requests, one for each plan that clients are built on."""

_BLOCK = re.compile(r"^```http\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A request of a page: its body or form, the status, and places in the reply."""

    page: str
    method: str
    path: str
    body: str
    status: int
    places: tuple[str, ...]


def shown(page: str) -> list[Shown]:
    found = []
    for block in _BLOCK.findall((PAGES / f"{page}.md").read_text("utf-8")):
        request, _, answer = block.strip().rpartition("\n\n")
        line, _, body = request.partition("\n")
        method, path = line.split(" ", 1)
        status, *places = answer.split()
        found.append(Shown(page, method, path, body, int(status), tuple(places)))
    return found


@pytest.mark.parametrize("page", OF_PLANS)
def test_a_contract_begins_with_what_differs_and_gives_the_reason(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0].startswith("What differs")
    table = text.partition("## What differs")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\|", table, re.MULTILINE)) > 6
    assert len(shown(page)) >= 4


def at(value: Any, place: str) -> bool:
    for name in place.split("."):
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def form_of(body: str) -> FormData:
    form = FormData()
    for line in body.splitlines():
        name, _, value = line.partition("=")
        if name == "file":
            file_name, _, text = value.partition(":")
            form.add_field("file", text.encode(), filename=file_name, content_type="text/plain")
        else:
            form.add_field(name, value)
    return form


async def answer_to(client: Client, request: Shown) -> tuple[int, Any]:
    if request.method == "TOOL":
        params = {"name": request.path, "arguments": json.loads(request.body)}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accepted = {"Accept": "application/json, text/event-stream", **AUTHORIZED}
        reply = await client.post("/mcp", json=message, headers=accepted)
        result = (await reply.json())["result"]
        assert not result["isError"], result
        text = result["content"][0]["text"]
        return reply.status, json.loads(text) if request.places else text
    if request.method == "FORM":
        form = form_of(request.body)
        reply = await client.post(request.path, data=form, headers=AUTHORIZED)
    else:
        path, _, query = request.path.partition("?")
        url = URL(path).with_query(query.replace(" ", "+"))
        body = json.loads(request.body) if request.body else None
        reply = await client.request(request.method, url, json=body, headers=AUTHORIZED)
    return reply.status, await reply.json()


@pytest.mark.parametrize("page", OF_PLANS)
async def test_the_requests_of_a_contract_are_answered_as_it_says(
    client: Client, page: str
) -> None:
    for request in shown(page):
        status, value = await answer_to(client, request)
        assert status == request.status, (request, value)
        assert [place for place in request.places if not at(value, place)] == [], (request, value)
