"""Records are opened, and lead a search, by whatever callers write for them."""

from __future__ import annotations

import pytest

import drafts
from mem_search.errors import InputError, MemSearchError, NotFound
from mem_search.model import Draft, Filters, SearchRequest
from mem_search.search.opening import open_record, open_records
from mem_search.text.record_ids import RecordId
from mem_search.wiring import Runtime
from runtimes import fill


def of_claude_mem(source_id: str, text: str, **fields: object) -> Draft:
    kind = source_id.rpartition(":")[0].rpartition(":")[2]
    return drafts.draft(source_id, text, kind=kind, source="claude-mem", **fields)


STORED = (
    drafts.draft("n1", "a note about harbours"),
    of_claude_mem("observation:2001", "locks of the harbour"),
    of_claude_mem("3f2a9c1b:session_summary:12", "a session about tides"),
    of_claude_mem("3f2a9c1b:observation:2001", "another store about 2001"),
    of_claude_mem("3f2a9c1b:observation:9", "nine"),
    of_claude_mem("aaaaaaaa:observation:9", "nine again"),
    drafts.draft("n2", "the harbour of issue #2", project="sea"),
    of_claude_mem("user_prompt:4", "which harbour?"),
)


@pytest.fixture
async def filled(runtime: Runtime) -> Runtime:
    await fill(runtime, *STORED)
    return runtime


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("note:1", 1), ("1", 1), ("#7", 7), ("S3", 3), ("#P8", 8),
        ("cm:2001", 2), ("CM:S12", 3), ("cm:p4", 8),
    ],
)  # fmt: skip
async def test_every_form_opens_its_record(filled: Runtime, written: str, number: int) -> None:
    record, _ = await open_record(filled.search.store, RecordId.parse(written))
    assert record.number == number


@pytest.mark.parametrize(
    ("written", "error", "said"),
    [
        ("99", NotFound, "no record has the number 99"),
        ("note:2", NotFound, "number 2 is no note but a record of the kind Observation;"
         " open observation:2"),
        ("S12", NotFound, "no record has the number 12; claude-mem's own is cm:S12, here"
         " session_summary:3"),
        ("P4", NotFound, "number 4 is no user_prompt but a record of the kind Observation; open"
         " observation:4 (HTTP: /api/records/observation:4); claude-mem's own is cm:P4, here"
         " user_prompt:8"),
        ("port:1", InputError, "no kind of record is called 'port'"),
        ("cm:1", NotFound, "no record of claude-mem has the id cm:1; read its store again"),
        ("cm:9", InputError, "cm:9 is in several claude-mem stores: open observation:5,"
         " observation:6"),
    ],
)  # fmt: skip
async def test_an_id_that_opens_nothing_says_what_to_open(
    filled: Runtime, written: str, error: type[MemSearchError], said: str
) -> None:
    with pytest.raises(error) as raised:
        await open_record(filled.search.store, RecordId.parse(written), "id")
    assert said in raised.value.message
    assert raised.value.field == "id"


async def test_several_are_opened_in_order_and_once(filled: Runtime) -> None:
    ids = [RecordId.parse(each) for each in ("cm:S12", "1", "note:1", "note:2", "cm:9", "#99")]
    found, missing = await open_records(filled.search.store, ids)
    assert [record.number for record, _ in found] == [3, 1]
    assert list(map(str, missing)) == ["note:2", "cm:9", "#99"]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("#2", [2, 7]),
        ("observation:2", [2]),
        ("what does note:1 say of the harbour", [1]),
        ("cm:2001", [2, 4]),
        ("cm:S12 locks", [3]),
        ("P8", [8]),
    ],
)
@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
async def test_in_a_search_they_lead(
    filled: Runtime, asked: str, first: list[int], mode: str
) -> None:
    request = SearchRequest(asked, mode=mode, limit=10)  # type: ignore[arg-type]
    page = await filled.search.pipeline.search(request)
    found = [result.record.number for result in page.results]
    assert sorted(found[: len(first)]) == first
    assert found[0] == first[0] or asked == "cm:2001"
    assert not page.report.analyzed.warnings


async def test_beside_other_words_a_short_number_may_be_an_issue(filled: Runtime) -> None:
    page = await filled.search.pipeline.search(SearchRequest("harbour of issue #2", mode="keyword"))
    assert page.results[0].record.number == 7


async def test_filters_hold_for_a_record_that_is_named(filled: Runtime) -> None:
    request = SearchRequest("#2", filters=Filters(project="sea"))
    page = await filled.search.pipeline.search(request)
    assert [result.record.number for result in page.results] == [7]


async def test_a_link_to_an_alias_leads_to_its_record(runtime: Runtime) -> None:
    from mem_search.model import Link

    await fill(
        runtime,
        drafts.draft("n1", "see there", links=(Link("cm:2001"),)),
        of_claude_mem("3f2a9c1b:observation:2001", "locks of the harbour"),
    )
    nodes = await runtime.search.store.read(lambda snapshot: snapshot.walk([1], 1, Filters()).edges)
    assert [(edge.start, edge.end) for edge in nodes] == [(1, 2)]
