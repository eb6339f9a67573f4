"""A commit is one to people: an observation from git with names of its own.

1. ``commit`` is a kind in every filter; clients of the API find the kind that they know.
2. It opens by the beginning of its hash, and comes first where a question names it so.
3. It shows its author, short hash, size and address.
4. One's own commits are own words, but claimed by an address that anybody may write.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.test_stores_search import STORES
from drafts import draft
from mem_search.errors import InputError, NotFound
from mem_search.model import Draft, Filters, SearchPage, SearchRequest
from mem_search.records.origin import is_given, origin_of, trust_of
from mem_search.records.registry import installed_kinds
from mem_search.renderers.listing import described, render_record
from mem_search.renderers.record_line import DisplayOptions, index_line
from mem_search.search.opening import open_record
from mem_search.text.record_ids import RecordId
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill

SHA = "0f3c9a1b2d4e5f60718293a4b5c6d7e8f9012345"
OTHER = "0f3c9a1b9999999999999999999999999999abcd"


def commit(sha: str, title: str, **metadata: object) -> Draft:
    return draft(
        sha,
        f"{title}\n\nFiles: a.py",
        title=title,
        kind="observation",
        source="git",
        url=f"https://github.com/ada/engine/commit/{sha}",
        metadata={
            "type": "bugfix", "author": "Ada", "commit": sha, "files_modified": ["a.py"],
            "insertions": 12, "deletions": 3, **metadata,
        },
    )  # fmt: skip


DRAFTS = (
    commit(SHA, "fix: login keeps its token", own=True),
    commit(OTHER, "fix: login of guests"),
    draft("work", "The agent changed the login", title="Login work", kind="observation"),
    draft("mail", "the login fails", kind="email"),
    draft("other", f"see {SHA[:9]} of the login", kind="note"),
)


@pytest.fixture(params=STORES)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(STORES[request.param](tmp_path / "home")) as opened:
        await fill(opened, *DRAFTS)
        yield opened


async def search(runtime: Runtime, text: str, **values: object) -> SearchPage:
    return await runtime.search.service.search(SearchRequest(text, **values), "test")  # type: ignore[arg-type]


def ids(page: SearchPage) -> set[str]:
    return {result.record.source_id for result in page.results}


async def test_commit_is_a_kind_in_every_filter(runtime: Runtime) -> None:
    commits = {SHA, OTHER}
    assert ids(await search(runtime, "login", filters=Filters(kinds=("commit",)))) == commits
    assert ids(await search(runtime, "login kind:commit")) == commits
    assert ids(await search(runtime, "is:commit")) == commits
    assert ids(await search(runtime, "login -kind:commit")) == {"work", "mail", "other"}
    both = Filters(kinds=("commit", "email"))
    assert ids(await search(runtime, "login", filters=both)) == {*commits, "mail"}
    inside = Filters(kinds=("commit", "observation"))
    assert ids(await search(runtime, "login", filters=inside)) == {*commits, "work"}
    elsewhere = Filters(kinds=("commit",), source="slack")
    assert ids(await search(runtime, "login", filters=elsewhere)) == set()


async def test_clients_find_the_kind_that_they_know(runtime: Runtime) -> None:
    page = await search(runtime, "login kind:commit")
    assert {str(each.record.ref).partition(":")[0] for each in page.results} == {"observation"}
    assert dict(page.counts) == {"observation": 2}
    assert "commit" not in installed_kinds().names


async def test_the_facet_counts_commits_beside_the_kind_that_they_are_of(
    runtime: Runtime,
) -> None:
    page = await search(runtime, "login", facets=("kind",))
    counted = dict(page.facets["kind"].values)
    assert (counted["observation"], counted["commit"]) == (3, 2)


async def test_a_commit_opens_by_the_beginning_of_its_hash(runtime: Runtime) -> None:
    store = runtime.search.store
    for written in (f"commit:{SHA[:12]}", f"Commit:{SHA.upper()}", SHA, f"local:commit:{SHA[:9]}"):
        record, _ = await open_record(store, RecordId.parse(written))
        assert record.source_id == SHA, written
    record, _ = await open_record(store, RecordId.parse(f"commit:{record.number}"))
    assert record.source_id == SHA
    with pytest.raises(InputError, match="several commits begin with 0f3c9a1b: open observation"):
        await open_record(store, RecordId.parse("commit:0f3c9a1b"))
    with pytest.raises(NotFound, match="no commit here begins with abcd12"):
        await open_record(store, RecordId.parse("commit:abcd12"))


async def test_a_commit_comes_first_where_a_question_names_its_hash(runtime: Runtime) -> None:
    for text in (SHA[:9], f"what did {SHA[:9]} change in the login", f"commit:{SHA[:9]}"):
        page = await search(runtime, text)
        assert page.results[0].record.source_id == SHA, text


async def test_people_see_a_commit_and_other_clients_what_they_know(runtime: Runtime) -> None:
    (record,) = (
        each.record
        for each in (await search(runtime, "login kind:commit")).results
        if each.record.source_id == SHA
    )
    kinds, now = installed_kinds(), datetime(2026, 11, 29, tzinfo=UTC)
    people = DisplayOptions(kinds.get, UTC, now, command_line=True)
    clients = DisplayOptions(kinds.get, UTC, now)
    number = record.number
    assert index_line(record, people).startswith(f"🔀 Commit #{number} - fix: login")
    assert index_line(record, clients).startswith(f"🔴 Observation #{number} - fix: login")
    shown = render_record(record, people)
    for line in ("Commit: 0f3c9a1b2d\n", "Changes: 1 file, +12 −3\n", "Author: Ada\n", record.url):
        assert line in shown
    request = SearchRequest("", filters=Filters(kinds=("commit",)))
    assert described(request, people) == "types=commit"


async def test_ones_own_commits_are_own_words_that_no_agent_gets_unasked(
    runtime: Runtime,
) -> None:
    found = {each.record.source_id: each.record
             for each in (await search(runtime, "login kind:commit")).results}  # fmt: skip
    own, others = found[SHA], found[OTHER]
    assert (origin_of(own), trust_of(own)) == ("own_words", "medium")
    assert (origin_of(others), trust_of(others)) == ("external", "low")
    # Anybody may write a person's address into a commit.
    assert not is_given(own)
    assert not is_given(others)
