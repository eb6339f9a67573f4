"""What the skill of the plugin says about tokens is what the worker's replies cost."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

from http_worker import TOKEN, Client

from mem_search.text.token_count import count

SKILL = Path(__file__).parents[2] / "plugin" / "skills" / "mem-search" / "SKILL.md"
TEXT = {"Accept": "text/plain"}


def figure(pattern: str) -> int:
    """The number in the skill that ``pattern`` has as its group."""
    found = re.search(pattern, SKILL.read_text("utf-8"))
    assert found is not None, pattern
    return int(found[1])


async def bare(client: Client, path: str) -> str:
    reply = await client.get(path, headers=TEXT)
    assert reply.status == 200
    return await reply.text()


async def test_a_line_of_the_index_costs_what_the_skill_says(client: Client) -> None:
    listing = await bare(client, "/api/search/unified?query=auth&limit=20")
    costs = [count(line) for line in listing.splitlines() if re.match(r"\S+ .*#\d+ - ", line)]
    assert len(costs) > 3
    said = figure(r"one line a record, some (\d+) tokens each")
    assert said / 2 <= median(costs) <= said * 1.2


async def test_no_record_costs_more_than_the_skill_allows(client: Client) -> None:
    text = "The tide rises in the harbour. " * 2_000
    headers = {"Authorization": f"Bearer {TOKEN}"}
    body = {"kind": "note", "title": "Long", "text": text}
    reply = await client.post("/api/records", json=body, headers=headers)
    ref = (await reply.json())["ref"]
    most = figure(r"give `max_tokens=(\d+)`")
    cut = await bare(client, f"/api/records/{ref}?max_tokens={most}")
    assert most / 2 < count(cut) <= most
    assert count(await bare(client, f"/api/records/{ref}")) > most


def test_a_search_of_everything_is_the_unified_one() -> None:
    assert "search everything" in SKILL.read_text("utf-8")
    assert "| anything, newest first" in SKILL.read_text("utf-8")
