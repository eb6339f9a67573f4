"""Saved searches over HTTP: new matches, reported once, in the inbox and by webhook; scopes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.http.core.app import build_app
from mem_search.model import Draft
from mem_search.settings import Settings
from patience import PATIENCE
from runtimes import fill
from smtp_server import mailbox
from webhook_receiver import Receiver

SAVED, INBOX, SCOPES = "/api/v1/saved-searches", "/api/v1/notifications", "/api/v1/scopes"


@pytest.fixture
async def client(settings: Settings, receiver: Receiver) -> AsyncIterator[Client]:
    """A worker with a note about auth that may call the receiver."""
    allowing = replace(settings, webhook_allow=(receiver.authority,))
    async with TestClient(TestServer(build_app(allowing))) as client:
        await lifecycle_of(client).ready()
        await store(client, old="All about auth.")
        yield client


async def store(client: Client, **texts: str) -> None:
    """Notes by their source id, stored and indexed."""
    drafts = [Draft("note", "jsonl", name, text, name.title()) for name, text in texts.items()]
    await fill(lifecycle_of(client).runtime, *drafts)


async def call(client: Client, method: str, path: str, status: int = 200, body: Any = None) -> Any:
    reply = await client.request(method, path, json=body, headers=AUTHORIZED)
    assert reply.status == status, await reply.text()
    return await reply.json()


async def save(client: Client, name: str = "auth", status: int = 201, **body: Any) -> Any:
    body = {"name": name, "search": {"query": "auth"}, **body}
    return await call(client, "POST", SAVED, status, body)


async def run(client: Client, name: str = "auth") -> Any:
    return await call(client, "POST", f"{SAVED}/{name}/run")


async def inbox(client: Client, **params: Any) -> list[Any]:
    reply = await client.get(INBOX, params=params)
    assert reply.status == 200, await reply.text()
    said = await reply.json()
    assert said["total"] >= len(said["notifications"])
    return list(said["notifications"])


def titles(told: Any) -> set[str]:
    return {match["title"] for match in told}


async def test_what_was_there_is_found_and_is_not_new(client: Client) -> None:
    saved = await save(client, every="60m", search={"query": "auth", "content_types": ["note"]})
    assert (saved["name"], saved["every"], saved["inbox"]) == ("auth", "1h", True)
    assert saved["search"]["content_types"] == ["note"]
    assert saved["next_run_at"] > saved["created_at"]
    ran = await run(client)
    assert (ran["new"], ran["new_count"], ran["notification"]) == ([], 0, None)
    assert titles(ran["result"]["items"]) == {"Old"}
    assert await inbox(client) == []


async def test_a_later_record_is_reported_once(client: Client, receiver: Receiver) -> None:
    await save(client, webhook_url=receiver.url)
    await store(client, new="Something on auth.", other="Something else.")
    ran = await run(client)
    assert titles(ran["new"]) == {"New"}
    assert ran["new"][0]["changed"] is False
    assert titles(ran["result"]["items"]) == {"Old", "New"}
    assert (await run(client))["new"] == []

    (told,) = await inbox(client)
    assert (told["saved_search"], told["count"]) == ("auth", 1)
    assert told["matches"] == ran["new"]
    (message,) = await receiver.wait_for(1)
    assert message.data["type"] == "saved_search.matched"
    data = message.data["data"]
    assert (data["saved_search"], data["query"], data["count"]) == ("auth", "auth", 1)
    assert data["matches"][0]["title"] == "New"
    assert "Something" not in str(data)


async def test_a_changed_record_is_reported_again_as_changed(client: Client) -> None:
    await save(client)
    await store(client, new="Something on auth.")
    await run(client)
    await store(client, new="Something on auth, corrected.", old="All about auth, corrected.")
    ran = await run(client)
    assert {match["title"]: match["changed"] for match in ran["new"]} == {"New": True, "Old": True}
    # Back to what was told before: nothing is told twice.
    await store(client, new="Something on auth.")
    assert (await run(client))["new"] == []


async def test_a_match_by_meaning_is_reported_when_it_has_a_vector(client: Client) -> None:
    await save(client, search={"query": "auth", "search_type": "hybrid"})
    await store(client, new="Something on auth.")
    assert titles((await run(client))["new"]) == {"New"}


async def test_of_many_at_once_none_is_forgotten(client: Client) -> None:
    await save(client)
    await store(client, **{f"n{i}": f"Number {i} on auth." for i in range(250)})
    ran = await run(client)
    assert ran["new_count"] == len(ran["new"]) == 250
    assert (await run(client))["new_count"] == 0


async def test_new_matches_are_told_by_e_mail_to_a_listed_address(settings: Settings) -> None:
    async with mailbox() as box:
        sending = replace(
            settings, smtp=f"smtp://127.0.0.1:{box.port}", smtp_to=("ada@example.org",)
        )
        async with TestClient(TestServer(build_app(sending))) as client:
            await lifecycle_of(client).ready()
            refused = await save(client, status=422, email="eve@example.org")
            assert refused["errors"][0]["pointer"] == "/email"
            saved = await save(client, email="ada@example.org")
            assert (saved["email"], saved["webhook_url"]) == ("ada@example.org", None)
            await store(client, new="Something on auth.")
            await run(client)
            ((recipient, message),) = await box.wait_for(1)
            assert recipient == "ada@example.org"
            assert "+ New  local:note:1" in message.get_content()
            assert "Something" not in message.get_content()


async def test_new_matches_are_told_by_webhook_and_by_e_mail_at_once(
    settings: Settings, receiver: Receiver
) -> None:
    async with mailbox() as box:
        sending = replace(
            settings,
            webhook_allow=(receiver.authority,),
            smtp=f"smtp://127.0.0.1:{box.port}",
            smtp_to=("ada@example.org",),
        )
        async with TestClient(TestServer(build_app(sending))) as client:
            await lifecycle_of(client).ready()
            both = {"email": "ada@example.org", "webhook_url": receiver.url}
            refused = await save(client, status=422, **{**both, "email": "eve@example.org"})
            assert refused["errors"][0]["pointer"] == "/email"
            saved = await save(client, **both)
            assert {name: saved[name] for name in both} == both
            await store(client, new="Something on auth.")
            await run(client)
            (posted,) = await receiver.wait_for(1)
            ((_, message),) = await box.wait_for(1)
            assert posted.data["data"]["matches"][0]["title"] == "New"
            assert "+ New  local:note:1" in message.get_content()
            ways = {"webhook": receiver.url, "email": "mailto:ada@example.org"}
            async with asyncio.timeout(PATIENCE):
                (told,) = await inbox(client)
                while {told[way]["state"] for way in ways} != {"delivered"}:
                    await asyncio.sleep(0.01)
                    (told,) = await inbox(client)
            assert {way: told[way]["url"] for way in ways} == ways
            # A change of one leaves the other.
            plan = {key: saved[key] for key in ("search", "email")}
            changed = await call(client, "PUT", f"{SAVED}/auth", body=plan)
            assert (changed["email"], changed["webhook_url"]) == ("ada@example.org", None)


async def test_nothing_is_reported_twice_over_a_restart(
    settings: Settings, receiver: Receiver
) -> None:
    allowing = replace(settings, webhook_allow=(receiver.authority,))
    async with TestClient(TestServer(build_app(allowing))) as first:
        await lifecycle_of(first).ready()
        await save(first, webhook_url=receiver.url)
        await store(first, new="Something on auth.")
        await run(first)
        await receiver.wait_for(1)
        await store(first, newer="Again on auth.")
    async with TestClient(TestServer(build_app(allowing))) as second:
        await lifecycle_of(second).ready()
        assert titles((await run(second))["new"]) == {"Newer"}
        messages = await receiver.wait_for(2)
        assert [m.data["data"]["matches"][0]["title"] for m in messages] == ["New", "Newer"]
        assert [told["count"] for told in await inbox(second)] == [1, 1]
        assert (await run(second))["new"] == []


async def test_a_schedule_runs_by_the_clock(client: Client) -> None:
    await save(client, every="1h")
    await store(client, new="Something on auth.")
    runtime = lifecycle_of(client).runtime
    await runtime.store.database.write(lambda c: c.execute("update saved_searches set next_at = 1"))
    runtime.research.saved_searches.wake()
    async with asyncio.timeout(PATIENCE):
        while not await inbox(client):  # noqa: ASYNC110  it asks from outside
            await asyncio.sleep(0.01)
    saved = await call(client, "GET", f"{SAVED}/auth")
    assert saved["last_run_at"] < saved["next_run_at"]
    assert saved["error"] is None
    popular = await (await client.get("/api/search/popular")).json()
    assert popular["queries"] == []


async def test_a_cron_expression_is_a_schedule_and_no_clock_that_was_ahead_holds_it(
    client: Client,
) -> None:
    saved = await save(client, schedule="30 4 * * *")
    assert (saved["every"], saved["schedule"]) == (None, "30 4 * * *")
    runtime = lifecycle_of(client).runtime
    late = "update saved_searches set next_at = 9999999999999"
    await runtime.store.database.write(lambda c: c.execute(late))
    runtime.research.saved_searches.wake()
    async with asyncio.timeout(PATIENCE):
        while await call(client, "GET", f"{SAVED}/auth") != saved:  # noqa: ASYNC110  from outside
            await asyncio.sleep(0.01)
    plan = {"search": {"query": "auth"}, "every": "2d"}
    changed = await call(client, "PUT", f"{SAVED}/auth", body=plan)
    assert (changed["every"], changed["schedule"]) == ("2d", None)
    broken = "update saved_searches set schedule = 'never', next_at = 1"
    await runtime.store.database.write(lambda c: c.execute(broken))
    await save(client, "other", every="1h")  # which wakes the schedule
    async with asyncio.timeout(PATIENCE):
        while not (told := await call(client, "GET", f"{SAVED}/auth"))["error"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert "cron expression" in told["error"]
    assert told["next_run_at"] is None


async def test_a_run_that_fails_says_so_and_the_next_one_makes_up_for_it(client: Client) -> None:
    await call(client, "PUT", f"{SCOPES}/work", body={"filter": "kind:note"})
    await save(client, every="1h", search={"query": "auth", "scope": "work"})
    await call(client, "DELETE", f"{SCOPES}/work")
    await store(client, new="Something on auth.")
    runtime = lifecycle_of(client).runtime
    await runtime.store.database.write(lambda c: c.execute("update saved_searches set next_at = 1"))
    runtime.research.saved_searches.wake()
    async with asyncio.timeout(PATIENCE):
        while True:
            saved = await call(client, "GET", f"{SAVED}/auth")
            if saved["error"]:
                break
            await asyncio.sleep(0.01)
    assert "no scope is called 'work'" in saved["error"]
    await call(client, "PUT", f"{SCOPES}/work", body={"filter": "kind:note"})
    assert titles((await run(client))["new"]) == {"New"}
    assert (await call(client, "GET", f"{SAVED}/auth"))["error"] is None


async def test_without_an_inbox_only_the_webhook_is_called(
    client: Client, receiver: Receiver
) -> None:
    await save(client, inbox=False, webhook_url=receiver.url)
    await store(client, new="Something on auth.")
    assert (await run(client))["notification"] is not None
    await receiver.wait_for(1)
    assert await inbox(client) == []


async def test_the_inbox_shows_a_webhook_that_failed(client: Client, receiver: Receiver) -> None:
    receiver.statuses = [410]
    await save(client, webhook_url=receiver.url)
    await store(client, new="Something on auth.")
    await run(client)
    async with asyncio.timeout(PATIENCE):
        while True:
            (told,) = await inbox(client)
            if told["webhook"]["attempts"]:
                break
            await asyncio.sleep(0.01)
    assert (told["webhook"]["state"], told["webhook"]["status"]) == ("failed", 410)


async def test_notifications_are_read_and_deleted(client: Client) -> None:
    await save(client)
    await save(client, "keys", search={"query": "keys"})
    await store(client, new="Something on auth.")
    await run(client)
    await store(client, newer="Auth and keys.")
    await run(client)
    await run(client, "keys")
    told = await inbox(client)
    assert [each["saved_search"] for each in told] == ["keys", "auth", "auth"]
    assert len(await inbox(client, search="auth", limit=1)) == 1
    number = told[0]["id"]
    assert (await client.post(f"{INBOX}/{number}/read")).status == 401
    read = await call(client, "POST", f"{INBOX}/{number}/read")
    assert read["read_at"]
    assert await call(client, "POST", f"{INBOX}/{number}/read") == read
    assert [each["id"] for each in await inbox(client, unread="true")] == [
        each["id"] for each in told[1:]
    ]
    assert await call(client, "DELETE", f"{INBOX}/{number}") == {"deleted": number}
    await call(client, "DELETE", f"{INBOX}/{number}", 404)
    await call(client, "POST", f"{INBOX}/{number}/read", 404)
    assert (await run(client, "keys"))["new"] == []


async def test_a_record_that_is_forgotten_is_gone_from_the_inbox(client: Client) -> None:
    await save(client)
    await store(client, new="Something on auth.")
    (match,) = (await run(client))["new"]
    await call(client, "DELETE", f"/api/records/{match['id']}")
    assert await inbox(client) == []


async def test_a_saved_search_is_changed_listed_and_forgotten(client: Client) -> None:
    await save(client, "b")
    await save(client, "A", every="weekly")
    listed = (await (await client.get(SAVED)).json())["saved_searches"]
    assert [(each["name"], each["every"]) for each in listed] == [("A", "1w"), ("b", None)]
    await store(client, new="All about keys and auth.")
    plan = {"search": {"query": "keys"}, "every": "2d", "inbox": False}
    changed = await call(client, "PUT", f"{SAVED}/B", body=plan)
    assert (changed["name"], changed["every"], changed["inbox"]) == ("b", "2d", False)
    # Another question tells what comes from now on; the same one goes on.
    assert (await run(client, "b"))["new"] == []
    assert titles((await run(client, "A"))["new"]) == {"New"}
    assert await call(client, "DELETE", f"{SAVED}/b") == {"deleted": "b"}
    for method, path in (("GET", "b"), ("PUT", "b"), ("DELETE", "b"), ("POST", "b/run")):
        body = plan if method == "PUT" else None
        assert (await call(client, method, f"{SAVED}/{path}", 404, body))["code"] == "not_found"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "a b"}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "a/b"}, "/name"),
        ({"name": "x" * 65}, "/name"),
        ({"search": {"query": " "}}, "/search/query"),
        ({"search": {"query": "a", "limit": 0}}, "/search/limit"),
        ({"search": {"query": "a", "mode": "deep_research"}}, "/search/mode"),
        ({"search": {"query": "a", "background": True}}, "/search/background"),
        ({"search": {"query": "a", "session_id": "s"}}, "/search/session_id"),
        ({"search": {"query": "a", "offset": 3}}, "/search/offset"),
        ({"search": {"query": "a", "scope": "none"}}, "/search/scope"),
        ({"every": "often"}, "/every"),
        ({"every": "59s"}, "/every"),
        ({"every": "400d"}, "/every"),
        ({"webhook_url": "http://127.0.0.1:1/"}, "/webhook_url"),
        ({"webhook_url": ""}, "/webhook_url"),
        ({"schedule": "1h"}, "/schedule"),
        ({"schedule": ""}, "/schedule"),
        ({"schedule": "0 0 4 * * *"}, "/schedule"),
        ({"schedule": "0 4 * * *", "every": "1h"}, "/every"),
    ],
)
async def test_what_cannot_be_saved_is_named(client: Client, body: Any, pointer: str) -> None:
    refused = await save(client, **{"status": 422, **body})
    assert refused["errors"][0]["pointer"] == pointer
    assert "pattern" not in refused["errors"][0]["detail"]
    assert (await (await client.get(SAVED)).json())["saved_searches"] == []


async def test_a_name_is_unique_and_changes_need_the_token(client: Client) -> None:
    await save(client)
    assert (await save(client, "AUTH", status=409))["errors"][0]["pointer"] == "/name"
    body = {"name": "x", "search": {"query": "auth"}}
    for method, path in (
        ("POST", SAVED),
        ("PUT", f"{SAVED}/auth"),
        ("DELETE", f"{SAVED}/auth"),
        ("POST", f"{SAVED}/auth/run"),
        ("PUT", f"{SCOPES}/x"),
        ("DELETE", f"{SCOPES}/x"),
    ):
        assert (await client.request(method, path, json=body)).status == 401


async def test_a_scope_narrows_every_search_by_its_name(client: Client) -> None:
    drafts = (
        Draft("note", "jsonl", "w", "Auth at work.", "Work", project="web"),
        Draft("note", "jsonl", "t", "Auth, tagged.", "Tagged", tags=("work",)),
        Draft("note", "jsonl", "d", "Auth, a draft.", "Draft", project="web", tags=("draft",)),
    )
    await fill(lifecycle_of(client).runtime, *drafts)
    kept = await call(
        client, "PUT", f"{SCOPES}/Work", body={"filter": "(project:web OR tag:work) -tag:draft"}
    )
    assert (kept["name"], kept["filter"]) == ("Work", "(project:web OR tag:work) -tag:draft")
    wanted = {"Work", "Tagged"}

    async def universal(**body: Any) -> Any:
        return await call(client, "POST", "/api/v1/search", body={"query": "auth", **body})

    assert titles((await universal(scope="work"))["items"]) == wanted
    assert titles((await universal(query="auth scope:work"))["items"]) == wanted
    assert titles((await universal(query="auth -scope:work"))["items"]) == {"Old", "Draft"}
    pasted = await universal(query="auth\nin several lines", scope="WORK")
    assert titles(pasted["items"]) == wanted
    for path in ("/api/search", "/api/search/unified", "/api/search/notes"):
        params = {"query": "scope:work auth", "format": "json"}
        found = await (await client.get(path, params=params)).json()
        assert titles(found["results"]) == wanted
        assert found["search"]["analyzed"]["filters"] == ["scope:work"]
    weighted = await call(
        client, "POST", "/api/v2/search/hybrid", body={"query": "auth scope:work"}
    )
    assert titles(weighted["data"]["items"]) == wanted

    await call(client, "PUT", f"{SCOPES}/work", body={"filter": "tag:draft"})
    assert titles((await universal(scope="work"))["items"]) == {"Draft"}
    listed = (await (await client.get(SCOPES)).json())["scopes"]
    assert [(each["name"], each["filter"]) for each in listed] == [("Work", "tag:draft")]
    assert (await (await client.get(f"{SCOPES}/work")).json())["filter"] == "tag:draft"
    await call(client, "DELETE", f"{SCOPES}/work")
    await call(client, "DELETE", f"{SCOPES}/work", 404)
    await call(client, "GET", f"{SCOPES}/work", 404)
    unknown = await call(client, "POST", "/api/v1/search", 422, {"query": "auth", "scope": "work"})
    assert unknown["errors"][0]["pointer"] == "/scope"
    as_text = await universal(query="auth scope:work")
    (warning,) = as_text["search"]["analyzed"]["warnings"]
    assert "no scope is called 'work'" in warning


@pytest.mark.parametrize(
    "text", ["", " ", "auth", "project:web auth", "+auth", "auth*", "scope:other", "kind:nothing"]
)
async def test_a_scope_is_made_of_fields_only(client: Client, text: str) -> None:
    refused = await call(client, "PUT", f"{SCOPES}/x", 422, {"filter": text})
    assert refused["errors"][0]["pointer"] == "/filter"


async def test_what_of_a_scope_is_no_field_is_named(client: Client) -> None:
    body = {"filter": "project:web colour:red"}
    refused = await call(client, "PUT", f"{SCOPES}/x", 422, body)
    assert "“colour:red” is not one" in refused["detail"]


async def test_a_scope_may_be_a_folder_of_notes_or_a_domain(client: Client) -> None:
    drafts = (
        Draft("note", "jsonl", "h", "Auth at home.", "Home", metadata={"folder": "home"}),
        Draft("website", "jsonl", "w", "Auth.", "Web", url="https://www.example.org/a"),
        Draft("website", "jsonl", "x", "Auth.", "Other", url="https://example.com/a"),
    )
    await fill(lifecycle_of(client).runtime, *drafts)
    text = "folder:Home OR domain:www.Example.org"
    await call(client, "PUT", f"{SCOPES}/mine", body={"filter": text})
    found = await call(client, "POST", "/api/v1/search", body={"query": "auth", "scope": "mine"})
    assert titles(found["items"]) == {"Home", "Web"}


@pytest.mark.parametrize("name", ["a b", "-a", "a:b", "x" * 65, "ä"])
async def test_a_scope_has_a_name_that_can_follow_a_colon(client: Client, name: str) -> None:
    refused = await call(client, "PUT", f"{SCOPES}/{name}", 422, {"filter": "kind:note"})
    assert "a name has letters" in refused["detail"]


async def test_a_replay_reports_a_changed_scope(client: Client) -> None:
    await call(client, "PUT", f"{SCOPES}/work", body={"filter": "kind:note"})
    body = {"query": "auth", "mode": "deep_research", "scope": "work"}
    first = await call(client, "POST", "/api/v1/search", body=body)
    assert first["items"]
    await call(client, "PUT", f"{SCOPES}/work", body={"filter": "kind:email"})
    operation = first["operations"][0]["id"]
    again = await call(client, "POST", f"/api/v1/search/operations/{operation}/replay")
    assert (again["identical"], again["index_unchanged"]) == (False, False)
    assert again["drift"]["total_now"] == 0
