"""A time beside other words: what is from it is found, and raised."""

from __future__ import annotations

from datetime import UTC, datetime

import drafts
from mem_search.model import Filters, SearchRequest
from mem_search.text.date_words import to_ms
from mem_search.wiring import Runtime
from runtimes import fill

NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
LAST_WEEK = to_ms(datetime(2026, 1, 14, tzinfo=UTC))
BEFORE = to_ms(datetime(2025, 6, 1, tzinfo=UTC))


async def found(runtime: Runtime, asked: str, **given: object) -> list[str]:
    request = SearchRequest(asked, limit=5, asked_at=NOW, mode="keyword", **given)  # type: ignore[arg-type]
    page = await runtime.search.pipeline.search(request)
    return [result.record.source_id for result in page.results]


OTHERS = [
    drafts.draft(f"o{n}", "harbour locks " + "other words " * n, created_at=BEFORE + n)
    for n in range(260)
]
ASKED = drafts.draft("asked", "harbour locks " + "other words " * 260, created_at=LAST_WEEK)


async def test_the_only_record_of_the_time_is_a_candidate_and_leads(runtime: Runtime) -> None:
    await fill(runtime, *OTHERS, ASKED)
    assert (await found(runtime, "harbour locks last week"))[0] == "asked"
    assert "asked" not in await found(runtime, "harbour locks")


async def test_filters_hold_for_what_is_from_the_time(runtime: Runtime) -> None:
    await fill(runtime, *OTHERS[:5], ASKED)
    others = Filters(without=(6,))
    assert "asked" not in await found(runtime, "harbour locks last week", filters=others)


async def test_a_clearly_better_answer_from_another_time_stays_above(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("answer", "anchor chain anchor chain", created_at=BEFORE),
        *(drafts.draft(f"w{n}", f"sails and ropes {n}", created_at=LAST_WEEK) for n in range(60)),
    )
    assert (await found(runtime, "anchor chain last week"))[0] == "answer"
