"""One record as JSON: added, replaced, changed, refused."""

from __future__ import annotations

from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of
from people import join

from runtimes import settled

NOTE = {
    "kind": "note",
    "source_id": "lamp",
    "title": "The lamp",
    "text": "It burns oil.",
    "created_at": "2026-02-01T10:00:00Z",
    "tags": ["harbour"],
    "metadata": {"folder": "quay", "weight": {"kg": 2, "lb": 4}},
    "links": [{"to": "https://example.org/oil"}],
}


async def send(
    client: Client, method: str, path: str, body: Any, status: int = 200, **params: str
) -> Any:
    reply = await client.request(method, path, json=body, headers=AUTHORIZED, params=params)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def found(client: Client, words: str) -> list[str]:
    params = {"query": words, "mode": "keyword", "format": "json"}
    reply = await (await client.get("/api/search", params=params)).json()
    return [result["ref"] for result in reply["results"]]


async def test_an_added_record_is_opened_and_found(empty: Client) -> None:
    reply = await empty.post("/api/records", json=NOTE, headers=AUTHORIZED)
    record = await reply.json()
    assert (reply.status, reply.headers["Location"]) == (201, f"/api/records/{record['ref']}")
    opened = await (await empty.get(reply.headers["Location"])).json()
    assert {name: opened[name] for name in record} == record
    assert {name: record[name] for name in ("title", "text", "tags", "metadata", "source")} == {
        "title": "The lamp", "text": "It burns oil.", "tags": ["harbour"],
        "metadata": NOTE["metadata"], "source": "api",
    }  # fmt: skip
    assert record["created_at"] == "2026-02-01T10:00:00.000Z"
    assert await found(empty, "oil") == [record["ref"]]
    runtime = lifecycle_of(empty).runtime
    await settled(runtime)
    assert (await runtime.store.statistics.corpus()).size == 1  # embedded as any other


async def test_the_same_again_is_no_conflict_and_something_else_is_unless_it_replaces(
    empty: Client,
) -> None:
    first = await send(empty, "POST", "/api/records", NOTE, 201)
    assert await send(empty, "POST", "/api/records", NOTE, 201) == first
    other = {**NOTE, "text": "It burns gas."}
    refused = await send(empty, "POST", "/api/records", other, 409)
    assert (refused["field"], first["ref"] in refused["detail"]) == ("source_id", True)
    assert await found(empty, "gas") == []
    changed = await send(empty, "POST", "/api/records", other, 201, replace="true")
    assert (changed["ref"], changed["text"]) == (first["ref"], "It burns gas.")


async def test_records_without_an_id_get_one_from_what_they_say(empty: Client) -> None:
    body = {"kind": "note", "text": "Buy oil.", "created_at": "2026-02-01T10:00:00Z"}
    first = await send(empty, "POST", "/api/records", body, 201)
    assert (await send(empty, "POST", "/api/records", body, 201))["ref"] == first["ref"]
    other = await send(empty, "POST", "/api/records", {**body, "text": "Buy gas."}, 201)
    assert other["ref"] != first["ref"]


async def test_put_replaces_all_and_keeps_identity_and_date(empty: Client) -> None:
    first = await send(empty, "POST", "/api/records", NOTE, 201)
    path = f"/api/records/{first['ref']}"
    record = await send(empty, "PUT", path, {"text": "It is out.", "title": "Dark"})
    assert {name: record[name] for name in ("ref", "source_id", "created_at")} == {
        name: first[name] for name in ("ref", "source_id", "created_at")
    }
    assert (record["tags"], record["metadata"], record["links"]) == ([], {}, [])
    assert record["updated_at"] > first["updated_at"]
    assert await found(empty, "oil") == []
    assert await found(empty, "dark") == [first["ref"]]


async def test_patch_changes_what_it_names_and_merges_metadata(empty: Client) -> None:
    first = await send(empty, "POST", "/api/records", NOTE, 201)
    path = f"/api/records/{first['ref']}"
    changes = {"tags": ["pier"], "links": None, "metadata": {"folder": None, "weight": {"lb": 5}}}
    record = await send(empty, "PATCH", path, changes)
    assert (record["title"], record["text"]) == ("The lamp", "It burns oil.")
    assert (record["tags"], record["links"]) == (["pier"], [])
    assert record["metadata"] == {"weight": {"kg": 2, "lb": 5}}
    assert await found(empty, "tag:pier oil") == [first["ref"]]
    assert await found(empty, "tag:harbour oil") == []
    assert (await send(empty, "PATCH", path, {"title": None}))["title"] == "It burns oil."


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("observation", {"files_modified": ["lamp.py"]}, {"files_modified": ["pier.py"]}),
        ("session_summary", {"learned": "The lamp.py leaks"}, {"learned": "The pier.py creaks"}),
    ],
)
@pytest.mark.parametrize("text", ["A change.", "A change.\n\n- Of two lines"])
async def test_text_that_came_from_metadata_changes_with_it(
    empty: Client, kind: str, before: dict[str, Any], after: dict[str, Any], text: str
) -> None:
    body = {"kind": kind, "text": text, "metadata": before}
    first = await send(empty, "POST", "/api/records", body, 201)
    assert "lamp.py" in first["text"]
    path = f"/api/records/{first['ref']}"
    record = await send(empty, "PATCH", path, {"metadata": after})
    assert "lamp.py" not in record["text"]
    assert record["text"] == first["text"].replace("lamp", "pier").replace("leaks", "creaks")


async def test_secrets_are_redacted_in_every_field(empty: Client) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    body = {
        "kind": "note", "text": f"key {secret}", "title": f"key {secret}", "tags": [secret],
        "project": secret, "url": f"https://example.org/?token={secret}", "source_id": secret,
        "metadata": {"key": secret}, "session": secret, "links": [{"to": secret}],
    }  # fmt: skip
    record = await send(empty, "POST", "/api/records", body, 201)
    assert secret not in str(record)
    changed = await send(empty, "PATCH", f"/api/records/{record['ref']}", {"title": secret})
    assert (changed["ref"], secret in str(changed)) == (record["ref"], False)


async def test_bad_input_names_the_field(empty: Client) -> None:
    first = await send(empty, "POST", "/api/records", NOTE, 201)
    path = f"/api/records/{first['ref']}"
    for method, where, body, pointer in (
        ("POST", "/api/records", {"kind": "note"}, "/text"),
        ("POST", "/api/records", {**NOTE, "kind": "recipe"}, "/kind"),
        ("POST", "/api/records", {**NOTE, "text": " "}, "/text"),
        ("POST", "/api/records", {**NOTE, "metadata": {"folder": 3}}, "/metadata/folder"),
        ("POST", "/api/records", {**NOTE, "created_at": "yesterday"}, "/created_at"),
        (
            "POST",
            "/api/records",
            {**NOTE, "metadata": {"source_type": "invoice", "due_date": "soon"}},
            "/metadata/due_date",
        ),
        ("PUT", path, {"title": "no text"}, "/text"),
        ("PUT", path, {"text": "x", "kind": "note"}, "/kind"),
        ("PATCH", path, {"text": None}, "/text"),
        ("PATCH", path, {"importance": 3}, "/importance"),
        ("PATCH", path, {"metadata": {"archived": "maybe"}}, "/metadata/archived"),
        (
            "PATCH",
            path,
            {"metadata": {"source_type": "receipt", "amount": "5 EUR"}},
            "/metadata/amount",
        ),
    ):
        problem = await send(empty, method, where, body, 422)
        assert [fault["pointer"] for fault in problem["errors"]] == [pointer], body
    for method in ("PUT", "PATCH"):
        await send(empty, method, "/api/records/note:999", {"text": "x"}, 404)
        await send(empty, method, "/api/records/email:1", {"text": "x"}, 404)


async def test_what_was_forgotten_comes_back_only_when_asked(empty: Client) -> None:
    first = await send(empty, "POST", "/api/records", NOTE, 201)
    await send(empty, "DELETE", f"/api/records/{first['ref']}", None)
    refused = await send(empty, "POST", "/api/records", NOTE, 409)
    assert "even_forgotten" in refused["detail"]
    back = await send(empty, "POST", "/api/records", NOTE, 201, even_forgotten="true")
    assert back["ref"] != first["ref"]


async def test_only_a_token_that_may_write_changes_records(empty: Client) -> None:
    reader = await join(empty, "ada", read_only=True)
    for headers, status in (({}, 401), (reader.headers, 403)):
        for method, path in (("POST", "/api/records"), ("PUT", "/api/records/note:1"),
                             ("PATCH", "/api/records/note:1")):  # fmt: skip
            reply = await empty.request(method, path, json=NOTE, headers=headers)
            assert reply.status == status, (method, path)
