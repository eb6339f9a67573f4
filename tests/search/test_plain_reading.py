"""A question in plain words becomes filters and lifts where the store has what it names.

1. A sure kind, its sender and stated facts filter and do not rank.
2. A kind that may be a word, and a time beside other words, only raise.
3. A kind with nothing but a person or a time beside it lists all such records.
4. What no record is or names stays a word; so does every word of an expression.
5. Filters that leave nothing together only raise.
6. A caller can take each part back, and write what the reply says.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import drafts
from drafts import draft
from mem_search.model import Filters, SearchPage, SearchRequest
from mem_search.model.requests import ReadPart
from mem_search.text.date_words import to_ms
from mem_search.wiring import Runtime
from runtimes import fill

# A question in plain words becomes filters and lifts where the store has what it names.

ASKED = datetime(2025, 11, 20, 12, tzinfo=UTC)
OCTOBER, MARCH = 1_760_000_000_000, 1_741_000_000_000


def mail(name: str, text: str, sender: str, at: int = OCTOBER, **metadata: object) -> object:
    return draft(
        name, text, kind="email", title=name, created_at=at, metadata={"from": sender, **metadata}
    )


ANN, BANK = "Ann Lee <ann@example.org>", "Fjordbank <service@fjordbank.example>"
DRAFTS = (
    mail("garden", "Seeds for the garden are here", ANN),
    mail("boat", "The boat leaks", ANN, MARCH),
    mail("statement", "Your garden loan is approved", BANK),
    draft(
        "lease",
        "Lease of the garden",
        kind="file",
        title="lease",
        created_at=MARCH,
        metadata={"path": "lease.pdf", "sender": [ANN]},
    ),
    draft("scan", "Fence in the garden", kind="file", title="scan",
          metadata={"path": "scan.pdf", "ocr": "tesseract"}),
    draft("note", "Water the garden", kind="note", title="note"),
    draft("page", "A garden in winter", kind="website", title="page"),
)  # fmt: skip


async def ask(runtime: Runtime, text: str, *as_words: ReadPart, **more: object) -> SearchPage:
    await fill(runtime, *DRAFTS)
    request = SearchRequest(text, asked_at=ASKED, as_words=as_words, **more)  # type: ignore[arg-type]
    return await runtime.search.service.search(request, "test")


def ids(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


def readings(page: SearchPage) -> list[tuple[str, str, str]]:
    return [(each.phrase, each.filter, each.use) for each in page.report.analyzed.readings]


async def test_a_sure_kind_and_its_sender_filter_and_do_not_rank(runtime: Runtime) -> None:
    page = await ask(runtime, "emails from Ann about the garden")
    assert readings(page) == [("emails", "kind:email", "filter"), ("Ann", "from:Ann", "filter")]
    assert page.report.analyzed.text == "about the garden"
    assert ids(page) == ["garden"]


async def test_the_reply_says_what_a_caller_can_write_for_it(runtime: Runtime) -> None:
    page = await ask(runtime, "emails from Ann about the garden")
    analyzed = page.report.analyzed
    written = " ".join(each.filter for each in analyzed.readings)
    assert ids(await ask(runtime, f"{written} garden")) == ids(page)


async def test_a_kind_that_may_be_a_word_only_raises(runtime: Runtime) -> None:
    page = await ask(runtime, "note about the garden")
    assert readings(page) == [("note", "kind:note", "lift")]
    assert ids(page)[0] == "note"
    assert len(ids(page)) > 1
    assert page.results[0].scores["intent-boost"] > 0


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("the PDF that Ann sent about the garden", "lease"),
        ("scanned page about the garden", "scan"),
        ("article about the garden", "page"),
        ("garden loan mail from the bank", "statement"),
        ("what did Ann write about the boat", "boat"),
        ("email from Ann in March 2025", "boat"),
    ],
)
async def test_the_first_result_is_what_was_asked_for(
    runtime: Runtime, text: str, first: str
) -> None:
    assert ids(await ask(runtime, text))[0] == first


BILLS = tuple(
    draft(
        f"bill {amount}",
        f"Garden bill\nTotal: {amount}.00 EUR\nDue date: 2025-11-{day}",
        kind="file",
        title=f"bill {amount}",
        metadata={"path": f"bill-{amount}.pdf", "sender": [BANK]},
    )
    for amount, day in ((80, 10), (250, 27))
)


@pytest.mark.parametrize(
    ("text", "filters", "found"),
    [
        ("garden invoices over 100 euros", ["amount>100", "currency:EUR"], {"bill 250"}),
        ("garden Rechnung unter 100 Euro", ["amount<100", "currency:EUR"], {"bill 80"}),
        ("overdue garden bills", ["due_date<today"], {"bill 80"}),
        ("garden bills due next week", ['due_date:"next week"'], {"bill 250"}),
    ],
)
async def test_facts_filter_what_states_them(
    runtime: Runtime, text: str, filters: list[str], found: set[str]
) -> None:
    await fill(runtime, *BILLS)
    page = await ask(runtime, text)
    assert [each for _, each, _ in readings(page)] == filters
    assert {*ids(page)} == found
    as_words = await ask(runtime, text, "fact")
    assert not readings(as_words)


@pytest.mark.parametrize(
    ("text", "found"),
    [("emails from Ann", {"garden", "boat"}), ("mail from Ann Lee", {"garden", "boat"})],
)
async def test_a_kind_and_a_person_alone_list_all_of_it(
    runtime: Runtime, text: str, found: set[str]
) -> None:
    page = await ask(runtime, text)
    assert {use for _, _, use in readings(page)} == {"filter"}
    assert {*ids(page)} == found


async def test_a_kind_alone_lists_all_of_it_where_no_record_has_the_word(
    runtime: Runtime,
) -> None:
    assert {*ids(await ask(runtime, "emails"))} == {"garden", "boat", "statement"}
    await fill(runtime, draft("word", "How to write emails", kind="note", title="word"))
    page = await ask(runtime, "emails")
    assert not readings(page)
    assert "word" in ids(page)


async def test_a_fact_and_a_sort_of_document_list_what_has_the_fact(runtime: Runtime) -> None:
    due = draft(
        "due", "Rechnungsbetrag: 87,40 EUR\nFällig am: 24.10.2025", kind="file", title="due"
    )
    await fill(runtime, due)
    assert ids(await ask(runtime, "bills due in October 2025")) == ["due"]
    other = draft(
        "bill", "Bill. Amount due: 9 EUR\nDue date: 2025-10-20", kind="file", title="bill"
    )
    await fill(runtime, other)
    assert ids(await ask(runtime, "bills due in October 2025"))[0] == "bill"


async def test_a_question_for_a_price_raises_what_has_an_amount(runtime: Runtime) -> None:
    await fill(runtime, *BILLS)
    page = await ask(runtime, "how much was the garden")
    assert [(each, use) for _, each, use in readings(page)] == [("has:amount", "lift")]
    assert {*ids(page)[:2]} == {"bill 80", "bill 250"}


async def test_a_function_word_is_no_slip_for_another_word(runtime: Runtime) -> None:
    page = await ask(runtime, "Brief vom Bürgermeister mit Siegel sobre Fjordbank")
    assert not page.report.analyzed.near
    assert not page.report.suggestions


async def test_a_part_can_be_taken_back(runtime: Runtime) -> None:
    text = "emails from Ann about the garden"
    page = await ask(runtime, text, "kind")
    assert readings(page) == [("Ann", "from:Ann", "filter")]
    assert {*ids(page)} == {"garden", "lease"}
    page = await ask(runtime, text, "all")
    assert not readings(page)
    assert "emails" in page.report.analyzed.words
    page = await ask(runtime, f"{text} last October", "time")
    assert readings(page)
    assert not page.report.analyzed.dates


async def test_what_no_record_is_or_names_stays_a_word(runtime: Runtime) -> None:
    page = await ask(runtime, "bookmarks about the garden")
    assert not readings(page)
    assert "bookmarks" in page.report.analyzed.words
    page = await ask(runtime, "emails from Zoe about the garden")
    assert readings(page) == [("emails", "kind:email", "filter")]
    assert "zoe" in [word.lower() for word in page.report.analyzed.words]


async def test_filters_that_leave_nothing_together_only_raise(runtime: Runtime) -> None:
    page = await ask(runtime, "email with an attachment from Ann about the garden")
    assert [use for _, _, use in readings(page)] == ["filter", "filter"]
    await fill(runtime, mail("hall", "The hall", BANK, attachments=["plan.pdf"]))  # type: ignore[arg-type]
    page = await ask(runtime, "email with an attachment from Ann about the garden")
    assert [use for _, _, use in readings(page)] == ["lift", "lift", "lift"]
    assert ids(page)


async def test_a_kind_and_a_time_alone_list_all_such_records(runtime: Runtime) -> None:
    page = await ask(runtime, "emails from October 2025")
    assert {*ids(page)} == {"garden", "statement"}
    assert [each.use for each in page.report.analyzed.dates] == ["filter"]
    assert page.report.realised == "filter"


async def test_the_month_that_a_document_is_for_is_looked_for_as_words(runtime: Runtime) -> None:
    page = await ask(runtime, "garden mail for March 2025")
    assert not page.report.analyzed.dates
    assert "March" in page.report.analyzed.text


@pytest.mark.parametrize(
    "text",
    [
        "emails about garden AND water",
        "emails about the garden -boat",
        "emails about +garden",
        '"emails about" garden',
    ],
)
async def test_in_an_expression_every_word_stays_a_word(runtime: Runtime, text: str) -> None:
    assert not readings(await ask(runtime, text))


async def test_the_selection_for_forgetting_reads_nothing(runtime: Runtime) -> None:
    await fill(runtime, *DRAFTS)
    request = SearchRequest("emails about the garden", asked_at=ASKED)
    filters = await runtime.search.pipeline.selection(request)
    numbers = await runtime.search.store.matching(filters)
    assert not numbers


@pytest.mark.parametrize(
    ("text", "named", "listed"),
    [
        ("files from October", "files", "fence"),
        ("show me my notes from October", "notes", "boiler"),
    ],
)
async def test_the_plural_of_a_kind_beside_nothing_but_a_time_lists_it(
    runtime: Runtime, text: str, named: str, listed: str
) -> None:
    await fill(
        runtime,
        draft("old", "Files and notes of the garden", kind="file", created_at=MARCH),
        draft("boiler", "The boiler", kind="note", created_at=OCTOBER),
        draft("fence", "The fence", kind="file", created_at=OCTOBER),
    )
    page = await ask(runtime, text)
    assert readings(page) == [(named, f"kind:{named[:-1]}", "filter")]
    assert ids(page) == [listed]


async def test_documents_from_a_time_are_all_that_is_from_then(runtime: Runtime) -> None:
    page = await ask(runtime, "documents from March 2025")
    assert set(ids(page)) == {"boat", "lease"}


# A time beside other words: what is from it is found, and raised.

NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
LAST_WEEK = to_ms(datetime(2026, 1, 14, tzinfo=UTC))
BEFORE = to_ms(datetime(2025, 6, 1, tzinfo=UTC))


async def found(runtime: Runtime, asked: str, **given: object) -> list[str]:
    request = SearchRequest(asked, limit=5, asked_at=NOW, mode="keyword", **given)  # type: ignore[arg-type]
    page = await runtime.search.pipeline.search(request)
    return [result.record.source_id for result in page.results]


EARLIER = [
    drafts.draft(f"o{n}", "harbour locks " + "other words " * n, created_at=BEFORE + n)
    for n in range(260)
]
LATE = drafts.draft("asked", "harbour locks " + "other words " * 260, created_at=LAST_WEEK)


async def test_the_only_record_of_the_time_is_a_candidate_and_leads(runtime: Runtime) -> None:
    await fill(runtime, *EARLIER, LATE)
    assert (await found(runtime, "harbour locks last week"))[0] == "asked"
    assert "asked" not in await found(runtime, "harbour locks")


async def test_filters_hold_for_what_is_from_the_time(runtime: Runtime) -> None:
    await fill(runtime, *EARLIER[:5], LATE)
    others = Filters(without=(6,))
    assert "asked" not in await found(runtime, "harbour locks last week", filters=others)


async def test_a_clearly_better_answer_from_another_time_stays_above(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("answer", "anchor chain anchor chain", created_at=BEFORE),
        *(drafts.draft(f"w{n}", f"sails and ropes {n}", created_at=LAST_WEEK) for n in range(60)),
    )
    assert (await found(runtime, "anchor chain last week"))[0] == "answer"


def bill(name: str, text: str) -> object:
    return draft(name, text, kind="file", title=name, metadata={"path": f"{name}.txt"})


PAPERS = (
    bill("factuur", "Bakkerij Jansen B.V.\nFactuur\nFactuurnummer: 7\nTotaal: € 812,40"),
    bill("rechnung", "Autohaus Weber GmbH\nRechnung Nr. 47\nGesamtbetrag: 950,00 EUR"),
    bill("cheap", "Quay Ltd\nINVOICE\nInvoice No: 3\nTotal due: 20.00 EUR"),
    bill("due", "Quay Ltd\nINVOICE\nInvoice No: 4\nTotal due: 30.00 EUR\nDue date: 2025-03-01"),
    draft("tolls", "Notice of overdue tolls on the bridge", kind="note", title="tolls"),
)


async def test_a_sort_of_document_beside_a_fact_is_its_type_in_every_language(
    runtime: Runtime,
) -> None:
    await fill(runtime, *PAPERS)
    for text in ("invoice over 700 euros", "bills over 700 euros", "Rechnungen über 700 Euro"):
        assert {*ids(await ask(runtime, text))} == {"factuur", "rechnung"}, text


async def test_a_fact_hides_no_record_that_has_the_words(runtime: Runtime) -> None:
    await fill(runtime, *PAPERS)
    assert ids(await ask(runtime, "overdue tolls"))[0] == "tolls"
    assert ids(await ask(runtime, "overdue invoices")) == ["due"]


async def test_where_what_a_question_names_leaves_nothing_its_words_count_and_it_says_so(
    runtime: Runtime,
) -> None:
    await fill(runtime, *PAPERS, bill("kite", "The zeppelin and its kite"))
    for text in ("overdue zeppelin", "zeppelin email from Ann", "scans about the zeppelin"):
        page = await ask(runtime, text, mode="keyword")
        assert "kite" in ids(page), text
    page = await ask(runtime, "emails about the zeppelin", mode="keyword")
    assert ids(page) == ["kite"]
    assert any("read as a filter" in notice for notice in page.report.notices)
    assert any("kind:email" in notice for notice in page.report.notices)


FOREIGN_BILLS = (
    draft("power", "Stadtwerke Kiel\nRechnung vom 12.04.2014\nGesamtbetrag: 812,40 EUR",
          kind="file", title="power", created_at=to_ms(datetime(2014, 4, 12, tzinfo=UTC)),
          metadata={"path": "power.pdf", "document_type": "invoice"}),
    draft("gas", "Energie BV\nFactuur\nTotaal: EUR 1250", kind="file", title="gas",
          metadata={"path": "gas.pdf", "document_type": "invoice"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("bills", {"power", "gas"}),
        ("my bill", {"power", "gas"}),
        ("bills from April 2014", {"power"}),
        ("Factuur", {"gas"}),
    ],
)
async def test_a_sort_of_document_alone_finds_those_that_say_it_in_another_language(
    runtime: Runtime, question: str, found: set[str]
) -> None:
    await fill(runtime, *FOREIGN_BILLS, *DRAFTS)
    page = await runtime.search.service.search(SearchRequest(question, asked_at=ASKED), "test")
    assert set(ids(page)) == found
