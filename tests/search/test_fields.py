"""Fields find what metadata, titles and texts hold; values that no record has are named."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from drafts import draft
from mem_search.cli.search_options import OPTIONS
from mem_search.errors import InputError
from mem_search.http.core.parameters import SearchParameters
from mem_search.http.universal_requests import UniversalSearchRequest
from mem_search.model import Draft, Filters, Mode, SearchPage, SearchRequest
from mem_search.model.requests import Scope
from mem_search.text.search_fields import FIELDS
from mem_search.wiring import Runtime
from runtimes import fill

DRAFTS = (
    draft(
        "mail",
        "The invoice of October is attached",
        kind="email",
        title="Invoice for lamps",
        project="claude-mem",
        metadata={
            "from": "Ann Lee <ann@example.org>",
            "to": ["Bob <bob@example.org>", "carl@example.org"],
            "cc": "Dora <dora@example.org>",
            "attachments": ["invoice-7.pdf"],
            "amount": 120,
            "due": "2025-10-03T09:00:00Z",
            "paid": False,
        },
    ),
    draft(
        "page",
        "Lamps and their invoice",
        kind="website",
        title="Lighting",
        url="https://shop.example.org/lamps",
        tags=("light",),
        metadata={"byline": "Émile Zola", "amount": 80, "state": {"phase": "Open"}, "paid": True},
    ),
    draft(
        "fix",
        "Lamps crashed",
        kind="observation",
        title="修复登录问题",
        metadata={"type": "bugfix", "failed": True, "due": "2025-11-01", "amount": "12"},
    ),
)


async def search(runtime: Runtime, text: str, **values: object) -> SearchPage:
    await fill(runtime, *DRAFTS)
    request = SearchRequest(text, **values)  # type: ignore[arg-type]
    return await runtime.search.service.search(request, "test")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("title:lamps", "mail"),
        ("title:lamp", "mail"),
        ("title:登录", "fix"),
        ("title:invoi*", "mail"),
        ("title:invoiceq*", ""),
        ("title:*ghting", "page"),
        ("title:li*ng", "page"),
        ("title:invoise~", "mail"),
        ("title:登录*", "fix"),
        ('title:"invoice for la*"', "mail"),
        ("-content:crash*", "mail page"),
        ("title:invoi*,*ghting", "mail page"),
        ("author:a*lee", "mail"),
        ("to:*example.org", "mail"),
        ("url:https*lamps", "page"),
        ("content:lamps", "fix page"),
        ('content:"their invoice"', "page"),
        ("lamps title:invoice", "mail"),
        ("author:ann", "mail"),
        ("author:zola", "page"),
        ("from:ANN@example.org", "mail"),
        ("to:bob", "mail"),
        ("to:carl,dora", "mail"),
        ("cc:dora", "mail"),
        ("cc:bob", ""),
        ("-from:ann", "fix page"),
        ("url:/lamps", "page"),
        ("url:100%", ""),
        ("failed:true", "fix"),
        ("failed:false", "mail page"),
        ("has:attachment", "mail"),
        ("has:attachments", "mail"),
        ("has:url", "page"),
        ("has:tags", "page"),
        ("has:paid", "page"),
        ("has:pa\0id", "page"),
        ("meta.amount>100", "mail"),
        ("meta.amount>=80", "mail page"),
        ("meta.amount<100", "page"),
        ("meta.amount:80,120", "mail page"),
        ("meta.amount=12", "fix"),
        ("meta.due<2025-10-03", ""),
        ("meta.due<=2025-10-03", "mail"),
        ("meta.due:2025-10-03", "mail"),
        ("meta.due>2025-10-03", "fix"),
        ("meta.due>=2025-11", "fix"),
        ("meta.state.phase:open", "page"),
        ("meta.state.phase:op*", "page"),
        ("meta.paid:true", "page"),
        ("meta.attachments:*.pdf", "mail"),
        ("meta.nothing:1", ""),
        ("lamps AND meta.amount>100", "mail"),
    ],
)
async def test_a_field_finds(runtime: Runtime, query: str, found: str) -> None:
    page = await search(runtime, query)
    assert {result.record.source_id for result in page.results} == set(found.split())
    assert not page.report.analyzed.warnings


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("zola", "page"),
        ("Emile Zola", "page"),
        ("Ann Lee", "mail"),
        ("carl@example.org", "mail"),
        ("dora", "mail"),
        ("invoice-7.pdf", "mail"),
        ("+dora +invoice", "mail"),
        ('"Ann Lee"', "mail"),
    ],
)
async def test_people_and_attachments_are_found_without_a_field(
    runtime: Runtime, query: str, found: str
) -> None:
    page = await search(runtime, query, mode="keyword")
    assert [result.record.source_id for result in page.results][:1] == [found]


async def test_people_are_found_as_long_as_they_are_named(runtime: Runtime) -> None:
    assert (await search(runtime, "dora", mode="keyword")).total == 1
    metadata = {**DRAFTS[0].metadata, "cc": "Eva <eva@example.org>"}
    await fill(runtime, replace(DRAFTS[0], metadata=metadata))
    for name, total in (("dora", 0), ("eva", 1)):
        request = SearchRequest(name, mode="keyword")
        assert (await runtime.search.service.search(request, "test")).total == total


@pytest.mark.parametrize(
    ("query", "notices"),
    [
        ("lamps project:claudemem", "no record has project 'claudemem'; nearest: 'claude-mem'"),
        ("lamps type:bug", "no record has type 'bug'; nearest: 'bugfix'"),
        ("lamps type:bug,bugfix", "no record has type 'bug'; nearest: 'bugfix'"),
        (
            "lamps OR tag:li*",
            "no record has tag 'li*'; tag takes the whole value, * stands for itself",
        ),
        ("lamps session:nobody", "no record has session 'nobody'"),
        ("lamps -tag:lihgt", "no record has tag 'lihgt'; nearest: 'light'"),
        ("lamps domain:shop.example.com", "no record has domain 'shop.example.com'"),
        ("lamps project:claude-mem", ""),
        ("lamps -tag:light", ""),
    ],
)
async def test_a_value_that_no_record_has_is_named(
    runtime: Runtime, query: str, notices: str
) -> None:
    found = (await search(runtime, query)).report.notices
    assert "; ".join(each for each in found if "no record" in each).startswith(notices)
    assert bool(notices) == any("no record" in each for each in found)


@pytest.mark.parametrize("names", [("Web", "web"), ("Äpfel", "äpfel")])
async def test_projects_that_differ_in_case_only_are_no_choice(
    runtime: Runtime, names: tuple[str, str]
) -> None:
    await fill(runtime, *(draft(name, "the lamp", project=name) for name in names))
    page = await runtime.search.service.search(SearchRequest(f"lamp project:{names[1]}"), "test")
    assert page.total == 2
    assert not page.report.notices


async def test_a_folder_without_its_slash_is_told(runtime: Runtime) -> None:
    metadata = {"path": "/home/me/Vault/Daily/lamp.md"}
    await fill(runtime, Draft("file", "test", "daily", "The lamp.", metadata=metadata))
    said = "'Daily' is a folder; for what is below it: path:Daily/"
    for query, total, told in (
        ("path:Daily", 0, True),
        ("file:Daily lamp", 0, True),
        ("path:Daily/", 1, False),
        ("path:lamp.md", 1, False),
        ("path:Weekly", 0, False),
    ):
        page = await search(runtime, query)
        assert (page.total, said in page.report.notices) == (total, told), query
    asked = await search(runtime, "", filters=Filters(files=("Daily",)))
    assert said in asked.report.notices


async def test_a_parameter_that_no_record_has_is_named(runtime: Runtime) -> None:
    page = await search(runtime, "lamps", filters=Filters(types=("bug",)))
    assert "no record has type 'bug'; nearest: 'bugfix'" in page.report.notices


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"title": ("their invoice", "lamps")}, "mail"),
        ({"title": ("invoi*",), "content": ("*tober",)}, "mail"),
        ({"author": ("ann", "zola")}, "mail page"),
        ({"author": ("ann,zola",)}, "mail page"),
        ({"from": ('"Lee, Ann"',)}, ""),
        ({"to": ("bob",), "cc": ("dora",)}, "mail"),
        ({"failed": ("false",)}, "mail page"),
        ({"has": ("attachment",)}, "mail"),
        ({"meta": ("amount>100",)}, "mail"),
        ({"meta": ("amount>=80", "paid:true")}, "page"),
        ({"meta": ("state.phase:Open", "amount:80,120")}, "page"),
        ({"meta.amount": ("80", "120")}, "mail page"),
        ({"project": ("claude-mem",), "title": ("invoice",)}, "mail"),
        ({"in": ("2001", "yesterday")}, ""),
    ],
)
async def test_a_field_beside_the_text_finds_the_same(
    runtime: Runtime, fields: dict[str, tuple[str, ...]], found: str
) -> None:
    for text in ("", "lamps"):
        page = await search(runtime, text, where=fields)
        assert {result.record.source_id for result in page.results} == set(found.split())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"meta": ("status",)}, "cannot read 'status'; Metadata of any name: status:open"),
        ({"meta": ("amount>many",)}, "meta.amount>'many' compares with neither a number nor"),
        ({"in": ("blursday",)}, "in:'blursday' is not a date, such as 2025-10-03 or \"last week\""),
        ({"title": ("...",)}, "title:'...' has no word"),
        ({"title": ("*ab",)}, "title:'*ab' cannot be looked up: “*ab” has fewer than three"),
        ({"title": ("*args and more",)}, "title:'*args and more' cannot be looked up: * stands"),
        ({"title": ("*aaa,*bbb,*ccc,*ddd,*eee",)}, "title: only 4 words may have * inside"),
        ({"author": (" , ",)}, "has no value; A part of an author's name"),
        ({"auhtor": ("x",)}, "there is no field 'auhtor'; did you mean author?"),
        ({"scope": ("x",)}, "no scope is called 'x'; there are none yet"),
        ({"is": ("arkived",)}, "is:'arkived' has no meaning; did you mean is:archived?"),
    ],
)
async def test_a_field_that_cannot_be_read_is_named(
    runtime: Runtime, fields: dict[str, tuple[str, ...]], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        await search(runtime, "lamps", where=fields)
    assert refused.value.field == next(iter(fields))
    assert refused.value.message.startswith(said)
    assert "as text" not in refused.value.message


@pytest.mark.parametrize(
    "asked", [{"text": "title:*zzz"}, {"text": "lamps", "where": {"title": ("*zzz",)}}]
)
async def test_the_reply_says_what_signs_in_fields_stand_for(
    runtime: Runtime, asked: dict[str, Any]
) -> None:
    page = await search(runtime, **asked)
    assert page.total == 0
    assert page.report.analyzed.warnings == ("no record has a word that “*zzz” stands for",)
    page = await search(runtime, "title:invoi* lamps -content:zzzz*")
    assert dict(page.report.analyzed.near) == {"invoi*": ("invoi*", "invoice"), "zzzz*": ("zzzz*",)}


async def test_a_scope_may_have_signs_in_its_fields(runtime: Runtime) -> None:
    await runtime.store.scopes.put(Scope("bills", "title:invoic*", 0))
    page = await search(runtime, "scope:bills")
    assert [result.record.source_id for result in page.results] == ["mail"]
    page = await search(runtime, "lamps", scope="bills")
    assert [result.record.source_id for result in page.results] == ["mail"]


async def test_wildcards_of_one_query_are_few_whatever_fields_they_are_in(
    runtime: Runtime,
) -> None:
    page = await search(runtime, "title:*aaa,*bbb content:*ccc,*ddd -content:*eee")
    assert page.report.analyzed.warnings[0].startswith("only 4 words may have * inside")


def test_every_surface_has_every_field() -> None:
    query = {name for name, field in SearchParameters.model_fields.items()}
    for field in SearchParameters.model_fields.values():
        extra = field.json_schema_extra
        query.update(extra["spellings"] if isinstance(extra, dict) else ())  # type: ignore[arg-type]
    assert set(FIELDS) <= query
    options = {option.flag[2:].replace("-", "_") for option in OPTIONS}
    assert set(FIELDS) <= options
    body = {**UniversalSearchRequest.model_fields, "kind": "content_types"}
    assert set(FIELDS) <= set(body)


INVOICE = draft(
    "invoice",
    "Quay Lamps Ltd\nINVOICE\nInvoice No: QL-2031\nTotal due: 96.00 GBP\n"
    "Due date: 1 January 2026\n",
    kind="file",
    title="scan 3",
)
GIVEN = draft(
    "given",
    "Quay Lamps Ltd\nINVOICE\nTotal due: 96.00 GBP\n",
    kind="file",
    title="scan 4",
    metadata={"total_amount": 12, "due_date": "2026-02-01"},
)
STORED = (*DRAFTS, INVOICE, GIVEN)


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("quay lamps ltd invoice amount>90", "invoice mail"),
        ("amount<20", "given"),
        ("quay lamps ltd invoice due_date>2025-12-01 due_date<2026-01-15", "invoice"),
        ("due_date:2026-01", "invoice"),
        ("organisation:quay -amount>90", "given"),
        ("invoice_number:ql-*", "invoice"),
        ("type:invoice", "given invoice"),
        ("document_type:invoice has:due_date", "given invoice"),
        ("meta.amount>90", "mail"),
        ("meta.from_text.amount>90", "invoice"),
        ("currency:GBP", "given invoice"),
    ],
)
async def test_what_a_document_states_is_filtered_by_in_every_leg(
    filled: Runtime, mode: Mode, query: str, found: str
) -> None:
    page = await filled.search.service.search(SearchRequest(query, mode=mode), "test")
    assert {result.record.source_id for result in page.results} == set(found.split())


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Auckland"])
async def test_a_day_without_a_time_is_that_day_in_every_time_zone(
    runtime: Runtime, zone: str
) -> None:
    await fill(runtime, INVOICE)
    now = datetime(2026, 3, 4, tzinfo=ZoneInfo(zone))
    for query, count in (
        ("due_date<2026-01-01", 0), ("due_date>2026-01-01", 0), ("due_date:2026-01-01", 1),
        ("due_date<=2026-01-01", 1), ("due_date>=2026-01-01", 1),
    ):  # fmt: skip
        page = await runtime.search.service.search(SearchRequest(query, asked_at=now), "test")
        assert page.total == count, query


async def test_each_comparison_of_a_parameter_holds_and_other_values_are_alternatives(
    filled: Runtime,
) -> None:
    for where, found in (
        ({"amount": (">50", "<100")}, "invoice page"),
        ({"amount": (">50,<90",)}, "page"),
        ({"amount": ("12", "80")}, "fix given page"),  # a text that is "12" equals it
        ({"due_date": ("<2026-01-15",)}, "fix invoice mail"),
        ({"vendor": ("quay,other",)}, "given invoice"),
    ):
        page = await filled.search.service.search(SearchRequest("", where=where), "test")
        assert {result.record.source_id for result in page.results} == set(found.split()), where
    with pytest.raises(InputError, match="is not a number"):
        await filled.search.service.search(SearchRequest("", where={"amount": ("much",)}), "test")
