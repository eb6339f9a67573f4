"""The JSON that scripts rely on, key by key."""

import json
from dataclasses import replace
from hashlib import sha256

from mem_search.model import (
    Analyzed,
    DateRange,
    FoundDate,
    LegReport,
    Link,
    Record,
    Ref,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.renderers.record_json import SearchReply, SearchResult, SnippetSpan, WholeRecord
from mem_search.renderers.schema import to_json, to_values
from mem_search.renderers.token_budget import page_json

RECORD = Record(
    number=7,
    kind="observation",
    source="git",
    source_id="abc",
    title="Login",
    text="The login is fast.",
    created_at=1_763_401_500_000,
    updated_at=1_763_401_500_250,
    project="web",
    session="s1",
    position=3,
    tags=("a",),
    url="https://example.org",
    importance=0.5,
    archived=True,
    metadata={"type": "bugfix"},
    superseded_by=Ref("note", 9),
    supersedes=(Ref("observation", 3), Ref("note", 4)),
)
NAMED = {
    "ref": "observation:7",
    "kind": "observation",
    "number": 7,
    "title": "Login",
    "created_at": "2025-11-17T17:45:00.000Z",
    "updated_at": "2025-11-17T17:45:00.250Z",
    "project": "web",
    "source": "git",
    "session": "s1",
    "url": "https://example.org",
    "tags": ["a"],
    "importance": 0.5,
    "archived": True,
    "superseded_by": "note:9",
    "supersedes": ["observation:3", "note:4"],
    "metadata": {"type": "bugfix"},
}


def test_a_page_has_exactly_these_keys() -> None:
    page = SearchPage(
        request=SearchRequest("login", limit=5, offset=10, order="date_desc"),
        results=(
            Result(RECORD, 0.9, Snippet("login", 4, 9), {"keyword": 2.0}, (Ref("observation", 8),)),
        ),
        total=11,
        folded=1,
        counts={"observation": 11},
        report=SearchReport(
            "hybrid",
            "keyword",
            (LegReport("keyword", "ok", 11, 1.5), LegReport("vector", "off", detail="none")),
            coverage=0.5,
            index_age_s=7.25,
            took_ms=2.5,
            notices=("no vectors",),
            analyzed=Analyzed(
                text="login",
                words=("login",),
                phrases=("log in",),
                demanded="type:bugfix AND NOT auth",
                filters=("type:bugfix",),
                excluded=("auth",),
                near=(("logn~", ("login",)),),
                dates=(
                    FoundDate("since Monday", DateRange(1_763_401_500_000), read_as="since Nov 17"),
                ),
                warnings=("a quote is not closed",),
            ),
        ),
    )
    found = to_values(SearchReply.of(page))
    assert json.loads(json.dumps(found)) == found
    assert found == {
        "query": "login",
        "results": [
            {
                **NAMED,
                "snippet": "login",
                "snippet_span": {"start": 4, "end": 9, "sha256": sha256(b"login").hexdigest()},
                "highlights": {"title": [[0, 5]], "snippet": [[0, 5]]},
                "score": 0.9,
                "relevance": None,
                "scores": {"keyword": 2.0},
                "similar": ["observation:8"],
            }
        ],
        "total": 11,
        "answerable": True,
        "counts_by_type": {"observation": 11},
        "folded": 1,
        "weaker": 0,
        "limit": 5,
        "offset": 10,
        "order": "date_desc",
        "search": {
            "requested": "hybrid",
            "realised": "keyword",
            "legs": [
                {"name": "keyword", "state": "ok", "count": 11, "ms": 1.5, "detail": ""},
                {"name": "vector", "state": "off", "count": 0, "ms": 0.0, "detail": "none"},
            ],
            "coverage": 0.5,
            "index_age_s": 7.25,
            "took_ms": 2.5,
            "notices": [
                "no vectors",
                "50% of the passages have vectors yet; the others are found by their words only",
                "a quote is not closed",
                '"since Monday" read as since Nov 17; dateStart/dateEnd keep only that',
            ],
            "suggestions": [],
            "analyzed": {
                "text": "login",
                "words": ["login"],
                "phrases": ["log in"],
                "demanded": "type:bugfix AND NOT auth",
                "filters": ["type:bugfix"],
                "excluded": ["auth"],
                "near": {"logn~": ["login"]},
                "operators": [],
                "dates": [
                    {
                        "phrase": "since Monday",
                        "start": "2025-11-17T17:45:00.000Z",
                        "end": None,
                        "use": "lift",
                    }
                ],
                "readings": [],
                "warnings": ["a quote is not closed"],
            },
        },
    }


def test_a_whole_record_has_its_text_and_its_links() -> None:
    assert to_values(WholeRecord.of(RECORD, [Link("note:1", "cites")])) == {
        **NAMED,
        "source_id": "abc",
        "origin": "external",
        "trust": "low",
        "position": 3,
        "text": "The login is fast.",
        "links": [{"to": "note:1", "relation": "cites"}],
    }


def test_a_record_without_a_title_is_named_by_its_words() -> None:
    untitled = Record(1, "note", "jsonl", "1", "", "word " * 100, 0, 0)
    title = WholeRecord.of(untitled).title
    assert title.startswith("word word")
    assert title.endswith("…")
    assert len(title) <= 100


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    odd = replace(RECORD, text="half \ud83d", metadata={"\udc80": ["\udc80"]})
    written = to_json(WholeRecord.of(odd))
    assert b"\\ud83d" in written
    found = json.loads(written)
    assert (found["text"], found["metadata"]) == ("half \ud83d", {"\udc80": ["\udc80"]})
    assert found["created_at"] == "2025-11-17T17:45:00.000Z"
    assert "note" not in found


def test_empty_values_have_no_key() -> None:
    assert "page" not in to_values(SnippetSpan.of(Snippet("login", 4, 9)))
    assert to_values(SnippetSpan(start=4, end=9, sha256="", page=3))["page"] == 3


PAGE = SearchPage(
    SearchRequest("login"),
    (Result(RECORD, 1.0, Snippet("login", 4, 9)),),
    1,
    {},
    SearchReport(requested="hybrid", realised="hybrid", legs=(), coverage=1.0),
)


def test_words_are_marked_by_the_language_that_the_record_has() -> None:
    bill = replace(RECORD, title="Rechnung 47", text="Rechnung bezahlt")
    for metadata, marked in (({"text_language": "de"}, ((0, 8),)), ({"text_language": ["de"]}, ())):
        result = Result(replace(bill, metadata=metadata), 1.0, Snippet("Rechnung bezahlt", 0, 16))
        shown = SearchResult.of(result, ("rechnungen",))
        assert (shown.highlights.title, shown.highlights.snippet) == (marked, marked)


def test_numbers_of_more_than_64_bits_and_odd_texts_of_a_page_stay_as_they_are() -> None:
    odd = replace(RECORD, title="half \ud83d", metadata={"number": 2**70, "share": 1e300})
    result = Result(odd, 1.0, Snippet("login", 4, 9))
    page = replace(PAGE, request=SearchRequest("login \udc80"), results=(result,))
    for names in ((), ("title", "metadata")):
        reply = json.loads(page_json(page, None, names))
        assert reply["query"] == "login \udc80"
        assert reply["results"][0]["title"] == "half \ud83d"
        assert reply["results"][0]["metadata"] == odd.metadata


def test_a_question_with_half_a_surrogate_pair_changes_nothing_in_the_results() -> None:
    plain, odd = (
        page_json(replace(PAGE, request=SearchRequest(question)), None)
        for question in ("", "\udc80")
    )
    results = plain[plain.index(b'"results":[') : plain.index(b',"total"')].partition(b":")[2]
    assert results in odd
    assert json.loads(odd)["tokens_used"] == json.loads(plain)["tokens_used"]
