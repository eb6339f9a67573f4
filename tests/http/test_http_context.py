"""What an agent gets from memory, over HTTP: as text, with reasons, and for a prompt."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from http_worker import AUTHORIZED, Client, Get, lifecycle_of

from mem_search.model import Location
from mem_search.text import token_count


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


def random_records(drawn: random.Random, projects: int) -> Iterator[dict[str, object]]:
    """Up to twelve records for each project, long and short ones, in any script."""

    def words(most: int) -> str:
        return "".join(drawn.choices("aé漢🌊 \n<.,;/", k=drawn.randint(1, most)))

    for project in range(projects):
        for number in range(drawn.randint(0, 12)):
            kind = drawn.choice(["session_summary", "observation", "note", "user_prompt", "email"])
            yield {
                "kind": kind, "source_id": f"{project}.{number}", "project": f"p{project}",
                "title": f"Tide {words(100)}", "text": f"The tide {words(3_000)}",
                "metadata": {"type": drawn.choice(["decision", "bugfix"])}
                if kind == "observation" else {},
            }  # fmt: skip


async def test_whatever_is_stored_a_briefing_keeps_its_budget(
    empty: Client, tmp_path: Path
) -> None:
    """A thousand random lists of records are in ``tests/renderers``; here are stored ones."""
    drawn, projects = random.Random(155), 60
    file = tmp_path / "records.jsonl"
    lines = (json.dumps(each) + "\n" for each in random_records(drawn, projects))
    file.write_text("".join(lines), "utf-8")
    counts = await lifecycle_of(empty).runtime.ingest.reader.read(Location("jsonl", str(file)))
    assert (counts.new > 3 * projects, counts.failed) == (True, 0)
    filled = 0
    for project in range(projects):
        asked = {"project": f"p{project}", "max_tokens": drawn.choice([50, 120, 300, 700, 1500])}
        asked["prompt"] = drawn.choice(["", "What do we know of the tide?"])
        text = await (await empty.get("/api/context/inject", params=asked)).text()
        assert token_count.count(text) <= asked["max_tokens"]
        assert text.count("</recalled-memory>") == text.count("<recalled-memory>") <= 1
        filled += "<recalled-memory>" in text
    assert filled > projects / 3
