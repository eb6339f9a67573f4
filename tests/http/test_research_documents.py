"""Send the requests in the documents about research as they are written."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from http_worker import TOKEN, Client, lifecycle_of

from mem_search.http.universal_requests import UniversalSearchRequest
from mem_search.model import Draft
from runtimes import fill, settled

DOCUMENT = Path(__file__).parents[2] / "docs" / "deep-research.md"
FIELDS = DOCUMENT.parent / "reference" / "searches.md"
FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\w+=\$\()?(curl (?:[^'\n\\|]|'[^']*'|\\\n|\"[^\"]*\")*)", re.MULTILINE)


def requests(document: str) -> Iterator[tuple[str, str, dict[str, str], Any]]:
    """(method, path, headers, body) of every ``curl`` in the document."""
    for fence in FENCE.findall(document):
        for command in COMMAND.findall(fence):
            words = iter(shlex.split(command)[1:])
            method, path, headers, body = "", "", {}, None
            for word in words:
                if word == "-X":
                    method = next(words)
                elif word == "-H":
                    name, _, value = next(words).partition(": ")
                    headers[name] = value
                elif word == "-d":
                    body = next(words)
                elif word != "-s":
                    path = word.removeprefix("$W")
            yield method or ("GET" if body is None else "POST"), path, headers, body


async def test_every_request_of_the_document_is_answered(client: Client) -> None:
    note = Draft("note", "jsonl", "limit", "Rate limit by token bucket.", "Limits", tags=("work",))
    await fill(lifecycle_of(client).runtime, note)
    await settled(lifecycle_of(client).runtime)
    (number,) = await lifecycle_of(client).runtime.store.database.read(
        lambda c: c.execute("select id from records where source_id = 'limit'").fetchone()
    )
    known = {"$TOKEN": TOKEN, "local:note:1": f"local:note:{number}"}

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    asked = [*requests(DOCUMENT.read_text("utf-8"))]
    assert len(asked) == 11
    for method, path, headers, body in asked:
        reply = await client.request(
            method,
            filled(path),
            headers={name: filled(value) for name, value in headers.items()},
            data=None if body is None else filled(body),
        )
        said = await reply.json()
        assert reply.status in (200, 201), (path, said)
        if isinstance(said.get("operations"), list) and "items" in said:
            known["$OPERATION"] = said["operations"][0]["id"]
        if said.get("job_id") and "items" in said:
            known["$JOB"] = said["job_id"]
        if "items" in said and not said["job_id"]:
            assert said["items"], json.dumps(said)[:500]


def test_the_document_of_the_universal_search_names_every_field() -> None:
    table = re.search(
        r"^\| field \| default \|.*?\n(?!\|)", FIELDS.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert table is not None
    named = {
        name
        for row in table[0].strip().splitlines()[2:]
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert named == set(UniversalSearchRequest.model_fields)
