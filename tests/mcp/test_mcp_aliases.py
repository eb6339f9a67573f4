"""Tools by the names of other programs, their arguments, and what their replies do not repeat."""

from __future__ import annotations

from typing import Any

import pytest

from drafts import draft
from mem_search.mcp import server
from mem_search.mcp.server import TOOLS, UNLISTED
from mem_search.mcp.tool import Outcome, ToolContext, call
from mem_search.renderers.safe_text import without_title
from mem_search.text.dates import from_iso
from runtimes import fill

BY_NAME = {name: tool for tool in (*TOOLS, *UNLISTED) for name in (tool.name, *tool.aliases)}


async def asked(context: ToolContext, name: str, **arguments: Any) -> Outcome:
    return await call(BY_NAME[name], arguments, context)


@pytest.mark.parametrize(
    "name", ["searchLocalArchives", "search_unified", "Search Local Knowledge"]
)
async def test_a_tool_answers_to_the_name_of_a_plan(context: ToolContext, name: str) -> None:
    outcome = await asked(context, name, query="token")
    assert not outcome.failed, outcome.text


def test_no_alias_is_listed() -> None:
    listed = {tool.name for tool in TOOLS}
    assert len(listed) == 7
    assert listed.isdisjoint({"searchLocalArchives", "search_unified", "Search Local Knowledge"})
    server.build()  # it takes them all the same


async def test_the_dated_list_is_that_of_the_unified_search(context: ToolContext) -> None:
    outcome = await asked(
        context, "search_unified", query="token", orderBy="date_asc", limit="1e1",
        dateRange={"start": "2025-11-01", "end": 1_764_633_600},
    )  # fmt: skip
    assert outcome.text.startswith("Found ")
    lines = [line for line in outcome.text.splitlines() if "#" in line]
    assert len(lines) > 2
    first, last = await asked(context, "search_unified", query="token", limit=1), lines[-1]
    assert last in first.text  # newest first by default
    for wrong in ({"dateRange": {"start": "2025-12-01", "end": "2025-11-01"}},
                  {"dateRange": {"begin": 1}}, {"orderBy": "best"}, {"limit": 101}):  # fmt: skip
        assert (await asked(context, "search_unified", query="token", **wrong)).failed


async def test_citations_come_with_a_graph(context: ToolContext) -> None:
    await fill(
        context.runtime,
        draft("w", "Tokens are valid for an hour.", kind="website", title="Tokens",
              url="https://example.org/tokens", created_at=from_iso("2025-11-05T10:00:00Z")),
        draft("r", "Zebra report. See [tokens](https://example.org/tokens). Zebra again.",
              kind="report", title="Zebra report", created_at=from_iso("2025-11-06T10:00:00Z")),
    )  # fmt: skip
    outcome = await asked(context, "searchLocalArchives", query="zebra", includeCitations=True,
                          citationDepth=2.0)  # fmt: skip
    assert outcome.value is not None, outcome.text
    graph = outcome.value["citationGraph"]
    (edge,) = graph["edges"]
    assert {node["id"] for node in graph["nodes"]} >= {edge["source"], edge["target"]}
    assert edge["source"].startswith("local:report:")
    assert "/api/graph/export?format=svg&ref=report:" in graph["picture"]
    without = await asked(context, "searchLocalArchives", query="zebra")
    assert "citationGraph" not in without.text
    (hit,) = outcome.value["results"]
    assert hit["text"].count("Zebra report") <= 1


async def test_a_text_of_an_archive_shows_no_place_twice_and_not_the_title(
    context: ToolContext,
) -> None:
    said = "The zebra crossing is striped. " + "Nothing else is said here. " * 20
    await fill(
        context.runtime,
        draft("r", f"# Zebra crossing\n\n{said}At last a crossing.", kind="report",
              title="Zebra crossing"),
    )  # fmt: skip
    outcome = await asked(context, "searchLocalArchives", query="zebra crossing striped")
    assert outcome.value is not None, outcome.text
    (hit,) = outcome.value["results"]
    assert hit["text"].startswith("The zebra crossing is striped.")
    assert hit["text"].count("striped") == 1
    assert "# Zebra" not in hit["text"]
    known = await asked(context, "search_local_knowledge", query="zebra crossing striped")
    assert known.value is not None
    assert known.value["results"][0]["content"].startswith("The zebra crossing is striped.")


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Key\nAt Ann's", "Key", "At Ann's"),
        ("Key: at Ann's", "Key", "at Ann's"),
        ("Keys are here", "Key", "Keys are here"),
        ("Key", "Key", "Key"),
        ("Other", "Key", "Other"),
        ("Other", "", "Other"),
        ("# Key\n\nAt Ann's", "Key", "At Ann's"),
        ("## Keys\n\nAt Ann's", "Key", "## Keys\n\nAt Ann's"),
        ("# Key\n", "Key", "# Key\n"),
        ("URL: https://a.org\nTitle: Key\n\nAt Ann's", "Key", "At Ann's"),
        ("Title: Key\nDate: 2025\n\n# Key\n\nAt Ann's", "Key", "At Ann's"),
        ("Request: Other\n\nAt Ann's", "Key", "Request: Other\n\nAt Ann's"),
    ],
)
def test_a_text_that_begins_with_its_title_does_not_repeat_it(
    text: str, title: str, rest: str
) -> None:
    assert without_title(text, title) == rest
