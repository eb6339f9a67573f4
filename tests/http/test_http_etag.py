"""A client that has the answer to a search gets 304 until a record changes."""

from __future__ import annotations

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.model import Draft
from mem_search.search.pipeline import SearchPipeline
from runtimes import fill

PATH = "/api/search/unified?query=auth"


async def test_a_known_answer_is_not_searched_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await client.get(PATH)
    tag = first.headers["ETag"]
    assert (await client.get(PATH)).headers["ETag"] == tag

    async def refuse(*_: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(SearchPipeline, "search", refuse)
    for sent in (tag, f'"other", {tag}', tag.removeprefix("W/")):
        reply = await client.get(PATH, headers={"If-None-Match": sent})
        assert (reply.status, await reply.read()) == (304, b"")
        assert reply.headers["ETag"] == tag


async def test_another_question_caller_or_form_has_another_tag(client: Client) -> None:
    tags = {
        (await client.get(path, headers=headers)).headers["ETag"]
        for path, headers in (
            (PATH, {}),
            (PATH, {"Accept": "text/plain"}),
            (PATH, AUTHORIZED),
            (f"{PATH}&limit=3", {}),
            (f"{PATH}&format=json", {}),
            ("/api/search?query=auth", {}),
        )
    }
    assert len(tags) == 6


async def test_a_new_record_changes_the_tag(client: Client) -> None:
    tag = (await client.get(PATH)).headers["ETag"]
    await fill(lifecycle_of(client).runtime, Draft("note", "jsonl", "new", "More on auth."))
    reply = await client.get(PATH, headers={"If-None-Match": tag})
    assert reply.status == 200
    assert reply.headers["ETag"] != tag
    assert "result(s)" in await reply.text()


@pytest.mark.parametrize(
    "path",
    [
        "/api/search?query=auth+an+hour+ago",
        "/api/search?query=auth&dateStart=90000+hours+ago",
        "/api/search?query=auth&since=90000h",
        "/api/search?query=auth&boosts=recency",
    ],
)
async def test_an_answer_that_ages_has_no_tag(client: Client, path: str) -> None:
    reply = await client.get(path)
    assert reply.status == 200
    assert "ETag" not in reply.headers
