"""A name in a question: records that hold it, as it is written, come first."""

from __future__ import annotations

import drafts
from mem_search.model import Filters, Mode, SearchRequest
from mem_search.wiring import Runtime
from runtimes import fill


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
