"""Notion over its API: what is read, what is asked again, what is gone, and what goes where."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import InputError, SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.sources import by_url
from mem_search.sources.notion import PLACE, NotionPages
from mem_search.sources.notion.client import MAX_WAIT_SECONDS, Notion
from mem_search.wiring import open_runtime
from notion_server import EDITED, TOKEN, Workspace, block, rich, serving
from runtimes import small


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Workspace]:
    with serving() as found:
        monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("MEM_SEARCH_NOTION_TOKEN", TOKEN)
        monkeypatch.setenv("MEM_SEARCH_NOTION_URL", found.url)
        monkeypatch.setenv("MEM_SEARCH_FETCH_ALLOW", found.authority)
        yield found


def read(cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(NotionPages().read(Location("notion", PLACE), cursor or {}))


def drafts(batches: list[Batch]) -> dict[str, Draft]:
    return {draft.source_id: draft for batch in batches for draft in batch.drafts}


def ledger(batches: list[Batch]) -> list[LedgerEntry]:
    return [entry for batch in batches for entry in batch.ledger]


def cursor_of(batches: list[Batch]) -> Any:
    return json.loads(json.dumps(batches[-1].cursor))


def test_a_page_is_its_blocks_as_markdown_with_its_properties(workspace: Workspace) -> None:
    workspace.page("home", "Home")
    workspace.database("tasks", "Tasks", parent={"type": "page_id", "page_id": "home"})
    mention = rich("Home", mention={"type": "page", "page": {"id": "home"}},
                   href="https://www.notion.so/home")  # fmt: skip
    workspace.page(
        "quay", "Paint the quay",
        block("heading_2", "Why"),
        block("paragraph", rich_text=[*rich("It rusts; see "), *mention]),
        block("bulleted_list_item", "Red", id="list"),
        block("bulleted_list_item", "Blue"),
        block("to_do", "Buy a brush", checked=True),
        block("code", "x = 1", language="python"),
        block("table", id="table"),
        block("image", external={"url": "https://example.org/q.png"}, caption=rich("The quay")),
        block("divider"),
        block("unsupported"),
        parent={"type": "database_id", "database_id": "tasks"},
        properties={
            "State": {"type": "status", "status": {"name": "Open"}},
            "Topics": {"type": "multi_select", "multi_select": [{"name": "harbour"}]},
            "Due": {"type": "date", "date": {"start": "2025-04-01", "end": None}},
            "Cost": {"type": "number", "number": 12.5},
            "Odd": {"type": "rollup", "rollup": {}},
        },
    )  # fmt: skip
    workspace.children["list"] = [block("paragraph", "As the boats")]
    workspace.children["table"] = [block("table_row", cells=[rich("a"), rich("b")])]
    found = read()
    page = drafts(found)["quay"]
    assert page.text == (
        "## Why\n\nIt rusts; see [Home](https://www.notion.so/home)\n\n- Red\n\n  As the boats\n\n"
        "- Blue\n- [x] Buy a brush\n\n```python\nx = 1\n```\n\na | b\n\n"
        "The quay https://example.org/q.png"
    )
    assert (page.kind, page.title, page.tags) == ("note", "Paint the quay", ("harbour",))
    assert [link.to for link in page.links] == ["home"]
    assert {name: page.metadata[name] for name in ("state", "due", "cost", "folder")} == {
        "state": "Open", "due": "2025-04-01", "cost": 12.5, "folder": "Home/Tasks",
    }  # fmt: skip
    assert "blocks of the kind unsupported: 1" in str(page.metadata["unread"])
    assert set(drafts(found)) == {"home", "tasks", "quay"}
    taken = [entry for entry in ledger(found) if entry.outcome == "taken"]
    assert sum(entry.records for entry in taken) == 3


def test_lists_are_read_to_their_end_and_what_is_known_is_not_asked_for(
    workspace: Workspace,
) -> None:
    for number in range(5):
        workspace.page(f"p{number}", f"Page {number}",
                       *(block("paragraph", f"line {each}") for each in range(5)))  # fmt: skip
    first = read()
    assert all(draft.text.count("line") == 5 for draft in drafts(first).values())
    assert len(drafts(first)) == 5
    workspace.asked.clear()
    assert read(cursor_of(first)) == []
    assert {path for _, path in workspace.asked} == {"/v1/search"}
    workspace.page("p1", "Page 1", block("paragraph", "new"),
                   last_edited_time="2025-03-02T10:00:00.000Z")  # fmt: skip
    again = drafts(read(cursor_of(first)))
    assert {name: draft.text for name, draft in again.items()} == {"p1": "new"}


def test_a_row_that_the_search_does_not_list_is_found_in_its_database(workspace: Workspace) -> None:
    workspace.database("tasks", "Tasks")
    workspace.page("row", "A row", parent={"type": "database_id", "database_id": "tasks"})
    workspace.unlisted.add("row")
    assert set(drafts(read())) == {"tasks", "row"}


def test_a_database_that_cannot_be_listed_costs_nothing_else(workspace: Workspace) -> None:
    workspace.database("several", "Several sources")
    workspace.page("row", "A row", parent={"type": "database_id", "database_id": "several"})
    whole = workspace.answer

    status = 400

    def answer(method: str, path: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path.endswith("/query"):
            return status, {"object": "error", "status": status, "code": "some_error"}
        return whole(method, path, given)

    workspace.answer = answer  # type: ignore[method-assign]
    found = read()
    assert set(drafts(found)) == {"several", "row"}
    failed = [entry for entry in ledger(found) if entry.outcome == "failed"]
    assert [entry.item for entry in failed] == ["Several sources"]
    status = 500
    with pytest.raises(SourceError, match="500 some_error"):
        read()
    workspace.busy = [(200, "")]
    with pytest.raises(SourceError, match="something else than a list"):
        read()


def test_only_what_notion_calls_gone_is_deleted(workspace: Workspace) -> None:
    for name in ("kept", "trashed", "unshared", "late"):
        workspace.page(name, name, block("paragraph", "words"))
    workspace.database("base", "Base")
    before = cursor_of(read())
    workspace.objects["trashed"].update(in_trash=True, last_edited_time="2025-03-05T10:00:00.000Z")
    del workspace.objects["unshared"], workspace.objects["base"]
    workspace.unlisted.add("late")  # the search of Notion lags behind
    found = read(before)
    deleted = {entry.item for entry in ledger(found) if entry.outcome == "deleted"}
    assert deleted == {"trashed", "unshared", "base"}
    assert {each for batch in found for each in batch.deletions} == deleted
    assert set(cursor_of(found)["pages"]) == {"kept", "late"}


def test_a_page_that_was_edited_in_this_minute_is_read_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mem_search.sources.notion import moment

    at = moment(EDITED)
    assert at is not None
    workspace.page("p", "Page", block("paragraph", "one"))
    monkeypatch.setattr("mem_search.sources.notion.now_ms", lambda: at + 30_000)
    first = read()
    workspace.children["p"] = [block("paragraph", "two")]  # under the same whole minute
    monkeypatch.setattr("mem_search.sources.notion.now_ms", lambda: at + 90_000)
    second = read(cursor_of(first))
    assert drafts(second)["p"].text == "two"
    assert read(cursor_of(second)) == []


def test_it_waits_as_long_as_notion_says_and_leaves_a_longer_wait_to_the_next_reading(
    workspace: Workspace,
) -> None:
    workspace.page("p", "Page", block("paragraph", "words"))
    waits: list[float] = []
    api = Notion(workspace.url, TOKEN, (workspace.authority,), waits.append)
    workspace.busy = [(429, "7"), (529, "")]
    assert [each["id"] for each in api.listed("/v1/search", {"sort": {
        "direction": "descending", "timestamp": "last_edited_time"}})] == ["p"]  # fmt: skip
    assert waits == [7, 4]
    workspace.busy = [(429, str(MAX_WAIT_SECONDS + 1))]
    with pytest.raises(SourceError, match=r"does not answer now .status 429"):
        api.asked("GET", "/v1/pages/p")


def test_what_was_read_before_notion_stops_answering_is_stored(workspace: Workspace) -> None:
    for number in range(3):
        workspace.page(f"p{number}", f"Page {number}", block("paragraph", "words"))
    whole = workspace.answer

    def answer(method: str, path: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if sum(each.endswith("/children") for _, each in workspace.asked) == 2:
            return 500, {"object": "error", "status": 500, "code": "internal_server_error"}
        return whole(method, path, given)

    workspace.answer = answer  # type: ignore[method-assign]
    found: list[Batch] = []
    with pytest.raises(SourceError, match="500 internal_server_error"):
        found.extend(NotionPages().read(Location("notion", PLACE), {}))
    assert len(drafts(found)) == 1
    workspace.answer = whole  # type: ignore[method-assign]
    assert len(drafts(read(cursor_of(found)))) == 2


def test_nothing_is_asked_without_a_token_nor_at_an_address_of_this_network(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_SEARCH_FETCH_ALLOW", "")
    with pytest.raises(SourceError, match=r"MEM_SEARCH_NOTION_URL: .*MEM_SEARCH_FETCH_ALLOW"):
        read()
    monkeypatch.setenv("MEM_SEARCH_NOTION_TOKEN", "")
    with pytest.raises(SourceError, match="no token is given for Notion"):
        read()
    assert workspace.asked == []


def test_a_token_that_is_refused_is_in_no_message(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_SEARCH_NOTION_TOKEN", "ntn_wrong")
    with pytest.raises(SourceError, match="Notion refuses the token") as refused:
        read()
    assert "ntn_wrong" not in str(refused.value)


def test_its_place_is_a_url() -> None:
    source = by_url("notion://")
    assert source is not None
    assert source.locate("notion:///").path == source.locate("notion://workspace/").path == PLACE
    for other in ("notion://elsewhere", "/some/folder"):
        with pytest.raises(InputError, match="notion://workspace"):
            source.locate(other)


async def test_a_page_is_found_and_forgotten_with_what_notion_has(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.page("home", "Home")
    workspace.page("p", "Page", block("paragraph", rich_text=rich(
        "kestrel", mention={"type": "page", "page": {"id": "home"}})))  # fmt: skip
    async with open_runtime(small(tmp_path / "home")) as runtime:
        place = Location("notion", PLACE)
        assert (await runtime.ingest.reader.read(place)).new == 2
        assert (await runtime.ingest.reader.read(place)).new == 0
        record = await runtime.store.records.named("notion", "p")
        assert record is not None
        assert record.url == "https://www.notion.so/p"
        del workspace.objects["p"]
        await runtime.ingest.reader.read(place)
        assert await runtime.store.records.named("notion", "p") is None


def test_a_page_that_is_not_as_documented_fails_alone(workspace: Workspace) -> None:
    workspace.page("odd", "Odd", block("table_row", cells=7))
    workspace.page("empty", "")
    workspace.page("p", "Page", block("paragraph", "words"))
    found = read()
    assert set(drafts(found)) == {"p"}
    outcomes = {entry.item: entry.outcome for entry in ledger(found)}
    assert outcomes == {"odd": "failed", "empty": "left", "p": "taken"}
