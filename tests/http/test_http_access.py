"""Tokens and users over HTTP: created by the home's own token, used, revoked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of
from people import OWNER, bring_in, join

from chosen_store import in_a_file
from mem_search.http.core.app import build_app
from mem_search.settings import Settings

NOTE = {"kind": "note", "source_id": "n1", "title": "Tide table", "text": "High water at noon"}
BEARER = {"Authorization": "Bearer mst_" + "x" * 43}


async def made(client: Client, **body: Any) -> tuple[int, dict[str, Any]]:
    reply = await client.post("/api/v1/tokens", json=body, headers=AUTHORIZED)
    return reply.status, await reply.json()


async def test_a_token_is_shown_once_and_listed_without_its_secret(empty: Client) -> None:
    status, token = await made(empty, name="laptop", user="ada", read_only=True, expires="90d")
    assert status == 201
    secret = token.pop("token")
    assert token == {
        "name": "laptop",
        "user": "ada",
        "read_only": True,
        "scope": "",
        "created_at": token["created_at"],
        "expires_at": token["expires_at"],
        "last_used_at": None,
    }
    assert token["expires_at"] > token["created_at"]
    reply = await empty.get("/api/v1/tokens", headers=AUTHORIZED)
    text = await reply.text()
    assert json.loads(text) == {"tokens": [token]}
    assert secret not in text
    await empty.get("/api/stats", headers={"Authorization": f"Bearer {secret}"})
    listed = await (await empty.get("/api/v1/tokens", headers=AUTHORIZED)).json()
    assert listed["tokens"][0]["last_used_at"] is not None


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        ({}, 422, "name"),
        ({"name": "a", "users": "ada"}, 422, "users"),
        ({"name": "a", "read_only": "perhaps"}, 422, "read_only"),
        ({"name": "a b"}, 422, "name"),
        ({"name": "a", "user": "../ada"}, 422, "user"),
        ({"name": "a", "expires": "tomorrow"}, 422, "expires"),
        ({"name": "a", "scope": "my work"}, 422, "scope"),
    ],
)
async def test_what_no_token_can_be_made_of_is_named(
    empty: Client, body: dict[str, Any], status: int, place: str
) -> None:
    answered, problem = await made(empty, **body)
    assert answered == status
    (fault,) = problem["errors"]
    assert (fault.get("pointer") or fault.get("parameter")).lstrip("/") == place
    assert "pattern" not in fault["detail"]


async def test_a_name_that_is_taken_is_a_conflict(empty: Client) -> None:
    assert (await made(empty, name="laptop", user="ada"))[0] == 201
    status, problem = await made(empty, name="laptop", user="bob")
    assert (status, problem["code"], problem["field"]) == (409, "conflict", "name")


async def test_a_revoked_token_is_refused_on_reads_too(empty: Client) -> None:
    ada = await join(empty, "ada")
    assert (await empty.get("/api/stats", headers=ada.headers)).status == 200
    revoked = await empty.delete("/api/v1/tokens/ada-laptop", headers=AUTHORIZED)
    assert await revoked.json() == {"revoked": "ada-laptop"}
    reply = await empty.get("/api/stats", headers=ada.headers)
    assert (reply.status, (await reply.json())["code"]) == (401, "unauthorized")
    again = await empty.delete("/api/v1/tokens/ada-laptop", headers=AUTHORIZED)
    assert (again.status, (await again.json())["field"]) == (404, "name")


async def test_a_token_that_only_reads_reads_and_carries_away_but_changes_nothing(
    empty: Client,
) -> None:
    ada = await join(empty, "ada")
    await bring_in(empty, ada, NOTE)
    reader = await join(empty, "ada", "ada-phone", read_only=True)
    for path in ("/api/stats", "/api/export", "/api/jobs", "/api/records/note:1"):
        assert (await empty.get(path, headers=reader.headers)).status == 200
    batch = await empty.post(
        "/api/records/batch", json={"refs": ["note:1"]}, headers=reader.headers
    )
    assert (await batch.json())["records"][0]["title"] == "Tide table"
    for method, path in (
        ("DELETE", "/api/records/note:1"),
        ("DELETE", "/api/search/log"),
        ("POST", "/api/import/jsonl"),
        ("POST", "/api/jobs/x/cancel"),
    ):
        reply = await empty.request(method, path, headers=reader.headers)
        problem = await reply.json()
        assert (reply.status, problem["code"]) == (403, "forbidden"), path
        assert "ada-phone may only read" in problem["detail"]
    assert (await empty.get("/api/records/note:1", headers=ada.headers)).status == 200


async def test_the_machines_person_has_tokens_for_programs_too(client: Client) -> None:
    _, token = await made(client, name="editor")
    headers = {"Authorization": f"Bearer {token['token']}"}
    found = await client.get("/api/search", params={"query": "auth"}, headers=headers)
    assert (await found.json())["total"] > 0
    assert (await client.delete("/api/search/log", headers=headers)).status == 200
    reply = await client.get("/api/v1/tokens", headers=headers)
    assert (reply.status, (await reply.json())["code"]) == (403, "forbidden")


async def test_users_are_listed_with_their_tokens_and_what_they_take(empty: Client) -> None:
    ada = await join(empty, "ada")
    await join(empty, "ada", "ada-phone")
    await join(empty, "bob")
    await made(empty, name="editor")
    await bring_in(empty, ada, NOTE)
    listed = await (await empty.get("/api/v1/users", headers=AUTHORIZED)).json()
    told = [(user["name"], user["tokens"]) for user in listed["users"]]
    assert told == [("ada", ["ada-laptop", "ada-phone"]), ("bob", ["bob-laptop"])]
    assert listed["users"][0]["bytes"] > 0
    assert listed["users"][0]["last_used_at"] is not None
    assert listed["users"][1] == {
        "name": "bob",
        "tokens": ["bob-laptop"],
        "bytes": 0,
        "last_used_at": None,
    }


async def test_a_user_who_is_removed_leaves_nothing(empty: Client, settings: Settings) -> None:
    ada, bob = await join(empty, "ada"), await join(empty, "bob")
    for person in (ada, bob):
        await bring_in(empty, person, NOTE)
    reply = await empty.delete("/api/v1/users/ada", headers=AUTHORIZED)
    assert await reply.json() == {"removed": "ada", "revoked": ["ada-laptop"]}
    assert (await empty.get("/api/stats", headers=ada.headers)).status == 401
    assert [place.name for place in (settings.home / "users").iterdir()] == ["bob"]
    assert (await empty.get("/api/records/note:1", headers=bob.headers)).status == 200
    again = await empty.delete("/api/v1/users/ada", headers=AUTHORIZED)
    assert (again.status, (await again.json())["field"]) == (404, "name")
    # The name is free; whoever has it next begins with nothing.
    next_ada = await join(empty, "ada")
    assert (await empty.get("/api/records/note:1", headers=next_ada.headers)).status == 404


async def test_no_path_leads_out_of_the_users_folder(empty: Client, settings: Settings) -> None:
    (settings.home / "keep").mkdir()
    for name in ("..%2Fkeep", "%2E%2E", "..", ".removed-x", "A"):
        reply = await empty.delete(f"/api/v1/users/{name}", headers=AUTHORIZED)
        assert reply.status in (404, 405, 422), name
    assert (settings.home / "keep").is_dir()


@in_a_file("it is in the folder of the user")
async def test_a_user_has_an_import_of_their_own_and_their_own_search_log(
    empty: Client, settings: Settings
) -> None:
    ada = await join(empty, "ada")
    await bring_in(empty, ada, NOTE)
    assert not list((settings.home / "spool").glob("*"))
    reply = await empty.get("/api/search", params={"query": "tide"}, headers=ada.headers)
    assert (await reply.json())["total"] == 1
    popular = [
        (await (await empty.get("/api/search/popular", headers=person.headers)).json())["queries"]
        for person in (ada, OWNER)
    ]
    assert [[query["query"] for query in queries] for queries in popular] == [["tide"], []]
    await empty.get("/api/records/1", headers=ada.headers)
    openings = [
        (await (await empty.get("/api/learned", headers=person.headers)).json())["clicks"]
        for person in (ada, OWNER)
    ]
    assert openings == [1, 0]
    homes = {file.name for file in (settings.home / "users" / "ada").iterdir()}
    assert "mem-search.db" in homes
    assert not homes & {"token", "worker.json", "chroma"}


@in_a_file("it has rights")
async def test_the_store_and_its_folder_are_the_workers_only(
    empty: Client, settings: Settings
) -> None:
    await bring_in(empty, await join(empty, "ada"), NOTE)
    home = settings.home / "users" / "ada"
    assert [oct(path.stat().st_mode & 0o777) for path in (home.parent, home)] == ["0o700"] * 2
    assert oct((home / "mem-search.db").stat().st_mode & 0o777) == "0o600"


async def test_a_user_token_does_not_make_a_worker(settings: Settings, tmp_path: Path) -> None:
    from dataclasses import replace

    from mem_search.errors import InputError
    from mem_search.http.core.app import build_app

    with pytest.raises(InputError, match="start the worker without it"):
        build_app(replace(settings, token="mst_" + "x" * 43))


@in_a_file("it is overwritten")
async def test_before_the_store_is_open_a_token_is_neither_right_nor_wrong(
    settings: Settings,
) -> None:
    from aiohttp.test_utils import TestClient, TestServer

    from mem_search.http.core.app import build_app

    settings.home.mkdir()
    (settings.home / "mem-search.db").write_bytes(b"not a database, and longer than a header" * 9)
    async with TestClient(TestServer(build_app(settings))) as client:
        reply = await client.get("/api/stats", headers=BEARER)
        assert reply.status == 503
        with pytest.raises(Exception, match="damaged"):
            await lifecycle_of(client).ready()
        assert (await client.get("/api/stats", headers=BEARER)).status == 503


async def test_a_user_fetches_nothing_that_only_the_owner_is_allowed(settings: Settings) -> None:
    """The setting names pages of the owner's network; other people have their own machines."""
    page = "http://127.0.0.1:9/page"
    allowing = replace(settings, fetch_allow=("127.0.0.1:9",))
    async with TestClient(TestServer(build_app(allowing))) as client:
        await lifecycle_of(client).ready()
        ada = await join(client, "ada")
        for person, status in ((OWNER, 202), (ada, 422)):
            reply = await client.post(
                "/documents/fetch", json={"url": page}, headers=person.headers
            )
            assert (reply.status, "MEM_SEARCH_FETCH_ALLOW" in await reply.text()) == (
                status, status == 422,
            )  # fmt: skip
        async with lifecycle_of(client).users.lease("ada") as runtime:
            assert runtime.settings.fetch_allow == runtime.settings.webhook_allow == ()
