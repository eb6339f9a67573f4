"""Records that a question names, by a name of code or by an id, lead; ids open them."""

from __future__ import annotations

import pytest

import drafts
from mem_search.errors import InputError, MemSearchError, NotFound
from mem_search.model import Draft, Filters, Mode, SearchRequest
from mem_search.search.opening import open_record, open_records
from mem_search.text.record_ids import RecordId
from mem_search.wiring import Runtime
from runtimes import fill

# A name in a question: records that hold it, as it is written, come first.


async def found(runtime: Runtime, asked: str, mode: Mode = "hybrid", **given: object) -> list[str]:
    request = SearchRequest(asked, mode=mode, limit=100, **given)  # type: ignore[arg-type]
    page = await runtime.search.pipeline.search(request)
    return [result.record.source_id for result in page.results]


PARTS = [
    drafts.draft(f"p{n}", f"claude mem worker port {'worker port ' * (n % 4)}number {n}")
    for n in range(300)
]
HOLDER = drafts.draft(
    "holder", "A long note about everything else. " * 40 + "It sets CLAUDE_MEM_WORKER_PORT once."
)


async def test_the_only_record_with_a_name_is_first_whatever_its_score(runtime: Runtime) -> None:
    await fill(runtime, *PARTS, HOLDER)
    modes: tuple[Mode, ...] = ("keyword", "vector", "hybrid")
    for asked in ("CLAUDE_MEM_WORKER_PORT", "where is claude_mem_worker_port set?"):
        for mode in modes:
            assert (await found(runtime, asked, mode))[0] == "holder", (asked, mode)
    # Without the name the order is another: what is tested is the stage.
    assert (await found(runtime, "claude mem worker port"))[0] != "holder"


async def test_records_with_more_names_and_with_whole_names_come_first(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("parts", "read file write file"),
        drafts.draft("longer", "read_file_now is read_file_now, read_file_now"),
        drafts.draft("one", "read_file " * 5),
        drafts.draft("both", "There is a lot of other text, then read_file, then write_file."),
    )
    assert await found(runtime, "read_file write_file") == ["both", "one", "longer"]


async def test_filters_hold_for_records_with_the_name(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("in", "read_file", project="shop"),
        drafts.draft("out", "read_file", project="blog"),
    )
    assert await found(runtime, "read_file", filters=Filters(project="shop")) == ["in"]
    assert await found(runtime, 'read_file "no such words"', filters=Filters(project="shop")) == [
        "in"
    ]


async def test_names_in_a_long_question_leave_the_order_to_its_words(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("named", "read_file"),
        drafts.draft("answer", "slow encrypted archives make the nightly backup late read file"),
    )
    asked = "why do slow encrypted archives make the nightly backup late in read_file"
    assert (await found(runtime, asked, "keyword"))[0] == "answer"


async def test_a_version_and_a_part_of_a_camel_case_name_find_their_holders(
    runtime: Runtime,
) -> None:
    await fill(
        runtime,
        drafts.draft("v", "Released v8.2.0 at last"),
        drafts.draft("parts", "8 boxes, 2 lids, 0 labels " * 3),
        drafts.draft("inside", "It reads memorySessionIds first"),
        drafts.draft("words", "session ids session ids"),
    )
    assert (await found(runtime, "8.2.0"))[0] == "v"
    assert (await found(runtime, "sessionIds"))[0] == "inside"


async def test_a_name_of_plain_words_leads_beside_others_where_few_records_hold_it(
    runtime: Runtime,
) -> None:
    common = [drafts.draft(f"c{n}", f"a real-time clock {n}") for n in range(30)]
    await fill(
        runtime,
        *common,
        drafts.draft("holder", "A long note about everything else. " * 30 + "Run rg-lto once."),
        *(drafts.draft(f"r{n}", "rg started lto started " * 3) for n in range(30)),
        drafts.draft("clock", "real time clocks started started started"),
    )
    assert (await found(runtime, "where is rg-lto started", "keyword"))[0] == "holder"
    assert (await found(runtime, "real-time clocks started", "keyword"))[0] == "clock"


# Records are opened, and lead a search, by whatever callers write for them.


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
        ("note:2", NotFound, "number 2 is of the kind Observation, not note;"
         " open observation:2"),
        ("S12", NotFound, "no record has the number 12; claude-mem's own is cm:S12, here"
         " session_summary:3"),
        ("P4", NotFound, "number 4 is of the kind Observation, not user_prompt; open"
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
