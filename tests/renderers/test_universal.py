"""The replies of the universal search, key by key: the contract's names, and OpenAI's."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from mem_search.model import (
    Analyzed,
    Citation,
    Record,
    Result,
    ResultTexts,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.model.results import IndexState, Operation
from mem_search.renderers.schema import to_values
from mem_search.renderers.universal import (
    McpFetchResponse,
    McpSearchResponse,
    SearchResultItem,
    UniversalSearchResponse,
    url_of,
)
from mem_search.search.citations import Annotation, CitedResult, Span, cite

BASE = "http://127.0.0.1:37777"
RECORD = Record(
    number=7,
    kind="website",
    source="web",
    source_id="abc",
    title="Login",
    text="The login is fast.",
    created_at=1_763_401_500_000,
    updated_at=1_763_401_500_250,
    project="web",
    session="s1",
    tags=("a",),
    url="https://example.org/login",
    importance=0.5,
    metadata={"domain": "example.org", "project": "theirs"},
)
CITATION = Citation(
    "website:7",
    "website",
    "Login",
    url="https://example.org/login",
    author="Ann",
    published_at=1_714_694_400_000,
    created_at=1_763_401_500_000,
    accessed_at=1_763_401_500_250,
    folder="",
    domain="example.org",
)
PROOF = sha256(b"login").hexdigest()
SPAN = Span("login", 4, 9, PROOF)
ITEM = CitedResult(
    record=RECORD,
    relevance=0.75,
    citation=CITATION,
    snippet=SPAN,
    match_fields=("title", "content"),
)
CITED = {
    "source_id": "local:website:7",
    "source_type": "website",
    "source_title": "Login",
    "url": "https://example.org/login",
    "author": "Ann",
    "published_date": "2024-05-03T00:00:00.000Z",
    "created_date": "2025-11-17T17:45:00.000Z",
    "last_accessed": "2025-11-17T17:45:00.250Z",
    "folder": None,
    "domain": "example.org",
}
METADATA = {
    "domain": "example.org",
    "project": "web",
    "session": "s1",
    "source": "web",
    "tags": ["a"],
    "importance": 0.5,
    "archived": False,
}


RESULT = Result(RECORD, 2.1972246, Snippet("login", 4, 9), relevance=0.75)


def page(*results: Result, snippets: bool = True) -> SearchPage:
    report = SearchReport(
        "keyword", "keyword", took_ms=12.5, analyzed=Analyzed("login", words=("login",))
    )
    texts = ResultTexts(snippets=snippets)
    request = SearchRequest("login", limit=5, offset=10, texts=texts)
    return SearchPage(request, results, 21, {"note": 14, "website": 7}, report)


def test_an_item_has_exactly_these_keys() -> None:
    assert to_values(SearchResultItem.of(ITEM, BASE)) == {
        "id": "local:website:7",
        "content_type": "website",
        "source": "local",
        "title": "Login",
        "url": "https://example.org/login",
        "snippet": "login",
        "snippet_span": {"start": 4, "end": 9, "sha256": PROOF},
        "highlights": {"title": [], "snippet": []},
        "relevance_score": 0.75,
        "created_at": "2025-11-17T17:45:00.000Z",
        "updated_at": "2025-11-17T17:45:00.250Z",
        "last_opened_at": "2025-11-17T17:45:00.250Z",
        "citation": CITED,
        "metadata": METADATA,
        "match_fields": ["title", "content"],
        "full_content": None,
        "annotations": None,
    }


def test_a_page_has_exactly_these_keys() -> None:
    said = to_values(UniversalSearchResponse.of(page(RESULT), BASE))
    assert said["items"] == [to_values(SearchResultItem.of(cite(page(RESULT))[0], BASE))]
    assert said["search"]["realised"] == "keyword"
    assert {name: said[name] for name in said if name not in ("items", "search")} == {
        "total_count": 21,
        "answerable": True,
        "weaker": 0,
        "counts_by_type": {"note": 14, "website": 7},
        "query": "login",
        "execution_time_ms": 12.5,
        "operations": None,
        "session_id": None,
        "job_id": None,
        "limit": 5,
        "offset": 10,
    }


def test_what_a_chain_adds_takes_its_place() -> None:
    step = Operation(
        id="o",
        session_id="s",
        parent_id=None,
        type="search",
        query="login",
        mode="deep_research",
        content_types=(),
        request={},
        redacted=False,
        results=(),
        total_count=0,
        took_ms=1.5,
        report={},
        index_state=IndexState(1, 2, 0, "hashing", "0"),
        created_at=1_763_401_500_000,
    )
    said = to_values(UniversalSearchResponse.of(page(), step=step))
    assert (said["session_id"], said["job_id"]) == ("s", None)
    assert said["operations"] == [
        {
            "id": "o",
            "operation_type": "search",
            "query": "login",
            "sources": ["local"],
            "content_types": None,
            "result_count": 0,
            "execution_time_ms": 1.5,
            "created_at": "2025-11-17T17:45:00.000Z",
        }
    ]


def test_annotations_and_full_content_are_there_when_the_item_has_them() -> None:
    noted = Annotation(Span("login", 4, 9, PROOF, page=3), "website:7", "The **login** is fast.")
    bare = Annotation(SPAN, "website:7")
    whole = replace(ITEM, full_content=RECORD.text, annotations=(noted, bare))
    said = to_values(SearchResultItem.of(whole))
    assert said["full_content"] == "The login is fast."
    assert said["annotations"] == [
        {
            "text": "login",
            "start_index": 4,
            "end_index": 9,
            "source_id": "local:website:7",
            "highlight": "The **login** is fast.",
            "sha256": PROOF,
            "page": 3,
        },
        {
            "text": "login",
            "start_index": 4,
            "end_index": 9,
            "source_id": "local:website:7",
            "highlight": None,
            "sha256": PROOF,
        },
    ]


def test_without_a_snippet_there_is_no_span() -> None:
    said = to_values(SearchResultItem.of(replace(ITEM, snippet=None)))
    assert (said["snippet"], said["snippet_span"]) == (None, None)
    found = to_values(McpSearchResponse.of(page(RESULT, snippets=False)))
    assert (found["results"][0]["text"], found["results"][0]["snippet_span"]) == ("", None)


def test_a_short_result_has_the_keys_of_both_contracts() -> None:
    said = to_values(McpSearchResponse.of(page(RESULT), BASE))
    assert said["results"] == [
        {
            "id": "local:website:7",
            "title": "Login",
            "url": "https://example.org/login",
            "text": "login",
            "snippet": "login",
            "snippet_span": {"start": 4, "end": 9, "sha256": PROOF},
            "highlights": {"title": [[0, 5]], "snippet": [[0, 5]]},
            "relevance_score": 0.75,
            "source": "local",
            "content_type": "website",
        }
    ]
    assert (said["total_count"], said["counts_by_type"]) == (21, {"note": 14, "website": 7})


def test_a_document_has_the_keys_of_both_contracts() -> None:
    assert to_values(McpFetchResponse.of(RECORD, CITATION, BASE)) == {
        "id": "local:website:7",
        "title": "Login",
        "url": "https://example.org/login",
        "text": "The login is fast.",
        "content": "The login is fast.",
        "source": "local",
        "content_type": "website",
        "citation": CITED,
        "metadata": METADATA,
        "operations": None,
        "session_id": None,
    }


def test_a_record_without_a_web_address_gets_a_permalink() -> None:
    assert url_of(RECORD, BASE) == "https://example.org/login"
    for url in ("", "git@example.org:x/y", "javascript:alert(1)", "file:///etc/passwd"):
        record = replace(RECORD, url=url)
        assert url_of(record, BASE) == "http://127.0.0.1:37777/v/website:7"
        assert url_of(record) == "/v/website:7"
