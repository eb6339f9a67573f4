"""What an agent gets from memory, over HTTP: as text, with reasons, and for a prompt."""

from __future__ import annotations

from http_worker import AUTHORIZED, Client, Get, lifecycle_of


async def test_a_briefing_as_text_and_with_its_reasons(client: Client, get: Get) -> None:
    reply = await client.get("/api/context/inject?projects=web,ui&colors=true&platformSource=")
    assert (reply.status, reply.content_type) == (200, "text/plain")
    text = await reply.text()
    assert text.startswith("mem-search holds ")
    assert "### Decisions\n⚖️ Observation #" in text
    assert text.endswith("</recalled-memory>\n")
    assert await (await client.get("/api/context/inject?project=nobody")).text() == ""
    for path in ("/api/context/inject", "/api/context/preview?projects=,"):
        refused = await client.get(path)
        assert refused.status == 422
        assert "name the project" in (await refused.json())["detail"]

    told = await get("/api/context/preview", project="web", files="auth.py", max_tokens=300)
    assert told["tokens_used"] <= told["max_tokens"] == 300
    assert told["matching"] is None
    of_session = await get("/api/context/preview", project="web", session="one")
    for found in (told, of_session):  # the session has changed that file
        reasons = {each["title"]: each["reasons"] for each in found["records"]}
        assert "file" in reasons["Added login endpoint"]


async def test_a_prompt_gets_what_matches_and_leaves_no_trace(client: Client, get: Get) -> None:
    body = {"q": "Which endpoint checks the auth password?", "project": "web", "limit": 1}
    reply = await (await client.post("/api/context/semantic", json=body)).json()
    assert reply["count"] == 1
    assert reply["context"].startswith("<recalled-memory>")
    short = await client.post("/api/context/semantic", json={"q": "yes, do it"})
    assert await short.json() == {"context": "", "count": 0, "tokens_used": 0}
    asked = await get("/api/context/preview", project="web", prompt="Which endpoint checks auth?")
    assert asked["matching"] >= 1
    assert "### For this prompt" in asked["context"]
    await lifecycle_of(client).runtime.search.service.log.flush()
    assert (await get("/api/search/popular"))["queries"] == []


async def test_what_others_wrote_is_counted_and_not_given(client: Client) -> None:
    mail = {"kind": "email", "text": "Reset the harbour token", "project": "harbour"}
    note = {"kind": "note", "text": "The harbour token lies in the safe", "project": "harbour"}
    for body in (mail, note):
        assert (await client.post("/api/records", json=body, headers=AUTHORIZED)).status == 201
    asked = {"project": "harbour", "prompt": "where is the harbour token kept?"}
    reply = await (await client.get("/api/context/preview", params=asked)).json()
    assert (reply["total"], reply["matching"]) == (2, 2)
    assert [each["ref"].partition(":")[0] for each in reply["records"]] == ["note"]
