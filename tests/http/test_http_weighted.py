"""The searches with weights: what they find, and that they say how."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from http_worker import Client, lifecycle_of

from mem_search.model import Draft, Link
from runtimes import settled

HYBRID, VECTOR, STATS = (f"/api/v2/search/{name}" for name in ("hybrid", "vector", "stats"))
USER = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
LONG = " ".join(
    f"Paragraph {i} tells what stage number{i} of the pipeline does." for i in range(150)
)

STORED = (
    Draft("memory", "jsonl", "m1", "The team prefers tabs over spaces.", "Tabs",
          created_at=1_735_689_600_000, tags=("style", "team"), importance=0.9,
          metadata={"type": "fact", "user_id": USER, "confidence": 0.75}),
    Draft("memory", "jsonl", "m2", "Spaces were an insight of last year.", "Spaces",
          created_at=1_736_294_400_000, tags=("style",), importance=0.3,
          metadata={"type": "insight"}, links=(Link("m1", "supports"),)),
    Draft("note", "api", "n9", "Tabs and spaces, a long debate.", "Debate",
          created_at=1_736_380_800_000, tags=("team", "old")),
    Draft("website", "web", "w1", "An article on tabs and spaces.", "Article",
          url="https://example.org/tabs"),
    Draft("observation", "claude-mem", "o9", "Changed tabs to spaces.", "Reformatted",
          metadata={"type": "change"}),
    Draft("observation", "git", "g9", "Commit that removes tabs.", "Commit"),
    Draft("session_summary", "claude-mem", "s9", "A session about tabs.", "Session"),
    Draft("user_prompt", "claude-code", "p9", "Please no tabs."),
    Draft("report", "jsonl", "r9", "Findings about tabs.", "Report"),
    Draft("email", "mail", "e9", "Mail about tabs.", "Mail"),
    Draft("file", "folder", "f9", LONG, "Pipeline"),
    Draft("note", "jsonl", "far", "Nothing alike, but tied.", "Elsewhere",
          links=(Link("m1", "explains"),)),
)  # fmt: skip

Post = Callable[..., Any]


@pytest.fixture
def post(filled: Client) -> Post:
    """POST a search and give its ``data``; asserts 200."""

    async def ask(path: str = HYBRID, /, **body: Any) -> Any:
        reply = await filled.post(path, json=body)
        assert reply.status == 200, await reply.text()
        return (await reply.json())["data"]

    return ask


def titles(data: Any) -> list[str]:
    return [item["title"] or item["content"] for item in data["items"]]


async def test_the_reply_has_the_shape_of_the_contract(filled: Client) -> None:
    reply = await filled.post(HYBRID, json={"query": "tabs and spaces"})
    body = await reply.json()
    assert set(body) == {"status", "data", "meta"}
    assert body["status"] == "success"
    assert body["meta"]["request_id"] == reply.headers["X-Request-Id"]
    assert body["meta"]["timestamp"].endswith("Z")
    data = body["data"]
    assert set(data) == {"items", "query", "analyzed_query", "search_metadata"}
    first = data["items"][0]
    assert {
        "id", "content", "snippet", "score", "score_breakdown", "metadata", "source_type",
        "created_at", "tags", "content_with_context", "chunk_index", "total_chunks",
    } <= set(first)  # fmt: skip
    assert set(first["score_breakdown"]) == {
        "final_score", "relevance", "bm25_score", "vector_score", "graph_score",
        "rank_bm25", "rank_vector", "rank_graph",
    }  # fmt: skip
    assert set(first["metadata"]) == {"memory_type", "importance", "highlight", "graph_context"}
    assert data["analyzed_query"]["weights"] == {"bm25": 0.4, "vector": 0.4, "graph": 0.2}
    assert data["analyzed_query"]["original"] == data["query"] == "tabs and spaces"
    metadata = data["search_metadata"]
    assert metadata["results_count"] == len(data["items"]) == metadata["stats"]["final_count"]
    assert set(metadata["stats"]) == {
        "search_time_ms", "bm25_time_ms", "vector_time_ms", "graph_time_ms", "fusion_time_ms",
        "bm25_count", "vector_count", "graph_count", "final_count",
    }  # fmt: skip
    assert set(metadata["knowledge_cloud"]) == {"nodes", "edges", "stats"}
    assert metadata["mode"]["realised"] == ["bm25", "vector", "graph"]
    assert metadata["mode"]["coverage"] == 1.0
    assert metadata["mode"]["index_age_s"] == 0.0
    for leg in metadata["mode"]["legs"]:
        assert leg["count"] == metadata["stats"][f"{leg['name']}_count"]
        assert leg["ms"] >= 0


async def test_relevance_is_the_same_with_other_weights(post: Post) -> None:
    first = (await post(query="tabs and spaces"))["items"]
    other = (await post(query="tabs and spaces", bm25_weight=0.7, vector_weight=0.1))["items"]
    known = {item["id"]: item["score_breakdown"]["relevance"] for item in first}
    assert any(known.values())
    both = [(known[item["id"]], item["score_breakdown"]["relevance"]) for item in other
            if item["id"] in known]  # fmt: skip
    assert both
    assert all(first == other for first, other in both)


async def test_scores_fall_and_lie_between_zero_and_one(post: Post) -> None:
    items = (await post(query="tabs and spaces"))["items"]
    scores = [item["score"] for item in items]
    assert scores == sorted(scores, reverse=True)
    for item in items:
        breakdown = item["score_breakdown"]
        assert breakdown["final_score"] == item["score"]
        known = [value for name, value in breakdown.items()
                 if name.endswith("_score") and value is not None]  # fmt: skip
        assert all(0 <= value <= 1 for value in known)
        assert any(breakdown[f"rank_{leg}"] for leg in ("bm25", "vector", "graph"))
    assert max(item["score_breakdown"]["bm25_score"] or 0 for item in items) == 1.0


async def test_the_score_is_the_weighted_sum_of_reciprocal_ranks(post: Post) -> None:
    weights = {"bm25": 0.5, "vector": 0.3, "graph": 0.2}
    asked = {f"{name}_weight": weight for name, weight in weights.items()}
    for item in (await post(query="tabs and spaces", rrf_k=10, **asked))["items"]:
        ranks = {name: item["score_breakdown"][f"rank_{name}"] for name in weights}
        total = sum(weights[name] / (10 + rank) for name, rank in ranks.items() if rank)
        assert item["score"] == pytest.approx(total * 11)


async def test_a_snippet_is_a_span_of_the_content(post: Post) -> None:
    for item in (await post(query="pipeline number77"))["items"]:
        span = item["snippet_span"]
        assert item["content"][span["start"] : span["end"]] == item["snippet"]
        assert len(item["snippet"]) < 260


async def test_neighbours_widen_the_context_without_repeating_it(post: Post) -> None:
    lengths = []
    for reach in (0, 1, 20):
        asked = {"query": "number77", "include_neighbors": reach}
        item = (await post(**asked, source_types=["document_upload"]))["items"][0]
        assert item["title"] == "Pipeline"
        assert item["content_with_context"] in item["content"]
        assert "number77 " in item["content_with_context"]
        assert 0 < item["chunk_index"] < item["total_chunks"] - 1
        lengths.append(len(item["content_with_context"]))
    assert lengths[0] < lengths[1] < lengths[2] == len(item["content"])


async def test_links_bring_in_what_no_word_leads_to(post: Post) -> None:
    data = await post(query="prefers tabs over")
    tied = next(item for item in data["items"] if item["title"] == "Elsewhere")
    assert tied["score_breakdown"]["bm25_score"] is None
    assert tied["score_breakdown"]["rank_graph"] >= 1
    assert tied["metadata"]["highlight"] is None
    assert "**prefers** **tabs**" in data["items"][0]["metadata"]["highlight"]
    context = tied["metadata"]["graph_context"]
    first = next(item["id"] for item in data["items"] if item["title"] == "Tabs")
    ties = [(tie["to_id"], tie["type"]) for tie in context["relationships"]]
    assert (first, "explains") in ties
    assert context["relationship_count"] >= 1
    cloud = data["search_metadata"]["knowledge_cloud"]
    nodes = {node["id"] for node in cloud["nodes"]}
    assert {tied["id"], first} <= nodes
    assert all({edge["from_id"], edge["to_id"]} <= nodes for edge in cloud["edges"])
    assert cloud["stats"]["edge_count"] == len(cloud["edges"])
    said = next(edge for edge in cloud["edges"] if edge["type"] == "explains")
    assert said["created_at"] == tied["created_at"]


async def test_without_expansion_there_is_no_graph_in_the_reply(post: Post) -> None:
    data = await post(query="prefers tabs over", enable_graph_expansion=False)
    assert "Elsewhere" not in titles(data)
    assert "knowledge_cloud" not in data["search_metadata"]
    assert data["search_metadata"]["mode"]["requested"] == ["bm25", "vector"]
    assert data["analyzed_query"]["graph_expansion_enabled"] is False
    assert data["items"][0]["metadata"]["graph_context"] is None
    assert data["items"][0]["score"] == pytest.approx(1.0)


async def test_where_nothing_is_looked_for_the_graph_is_there_and_empty(post: Post) -> None:
    data = await post(query="kind:note")
    assert len(data["items"]) == 2
    cloud = data["search_metadata"]["knowledge_cloud"]
    assert (cloud["nodes"], cloud["edges"], cloud["stats"]["seed_count"]) == ([], [], 0)
    data = await post(query="kind:note", enable_graph_expansion=False)
    assert "knowledge_cloud" not in data["search_metadata"]


async def test_a_weight_of_zero_leaves_its_leg_out(post: Post) -> None:
    words = await post(query="tabs", bm25_weight=1, vector_weight=0, graph_weight=0,
                       enable_graph_expansion=False)  # fmt: skip
    assert words["search_metadata"]["mode"]["requested"] == ["bm25"]
    assert all(item["score_breakdown"]["vector_score"] is None for item in words["items"])
    ranks = [item["score_breakdown"]["rank_bm25"] for item in words["items"]]
    assert ranks == [float(place) for place in range(1, len(ranks) + 1)]


async def test_the_graph_alone_starts_from_what_the_other_legs_find(post: Post) -> None:
    data = await post(query="prefers tabs", bm25_weight=0, vector_weight=0, graph_weight=1)
    assert "Elsewhere" in titles(data)
    assert all(item["score_breakdown"]["rank_graph"] for item in data["items"])


async def test_a_nonsense_question_finds_nothing(post: Post) -> None:
    data = await post(query="zzqqxx")
    assert data["items"] == []
    assert data["search_metadata"]["knowledge_cloud"]["nodes"] == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"memory_types": ["fact"]}, {"Tabs"}),
        ({"memory_types": ["fact", "insight"]}, {"Tabs", "Spaces"}),
        ({"memory_types": ["insight", "websites"]}, {"Spaces", "Article"}),
        ({"memory_types": ["memory"]}, {"Tabs", "Spaces"}),
        ({"memory_types": ["change"]}, {"Reformatted"}),
        ({"memory_types": ["unheard-of"]}, set()),
        ({"source_types": ["direct_input"]}, {"Tabs", "Spaces", "Debate"}),
        ({"source_types": ["document_upload"]}, {"Mail"}),
        ({"source_types": ["web_scrape"]}, {"Article"}),
        ({"source_types": ["api_import"]}, {"Commit"}),
        ({"source_types": ["conversation"]}, {"Reformatted", "Please no tabs."}),
        ({"source_types": ["reflection", "checkpoint"]}, {"Report", "Session"}),
        ({"source_types": ["checkpoint_recall"]}, set()),
        ({"source_types": ["direct_input"], "memory_types": ["fact"]}, {"Tabs"}),
        ({"tags": "style, old"}, {"Tabs", "Spaces", "Debate"}),
        ({"tags": "style,team", "tags_all": "style,team"}, {"Tabs"}),
        ({"tags_all": ["team"], "tags_not": "old"}, {"Tabs"}),
        ({"importance_threshold": 0.3}, {"Tabs", "Spaces"}),
        ({"importance_threshold": 0.5}, {"Tabs"}),
        ({"start_date": "2025-01-01", "end_date": "2025-01-01"}, {"Tabs"}),
        ({"start_date": "2025-01-01T00:00:00.001Z", "end_date": "2025-01-08"}, {"Spaces"}),
    ],
)
async def test_filters_hold_for_every_leg(
    post: Post, body: dict[str, Any], found: set[str]
) -> None:
    data = await post(query="tabs spaces", limit=100, graph_max_depth=5, **body)
    assert set(titles(data)) - {"Elsewhere"} == found
    nodes = data["search_metadata"]["knowledge_cloud"]["nodes"]
    assert {node["title"] for node in nodes} <= found | {"Elsewhere"}


async def test_every_record_has_the_one_source_type_that_finds_it(post: Post) -> None:
    items = (await post(query="tabs spaces pipeline tied", limit=100))["items"]
    assert len(items) == len(STORED)
    for item in items:
        asked = {"query": "tabs spaces pipeline tied", "source_types": [item["source_type"]]}
        same = {other["id"] for other in (await post(**asked, limit=100))["items"]}
        assert same == {i["id"] for i in items if i["source_type"] == item["source_type"]}


async def test_the_score_threshold_cuts_the_end_off(post: Post) -> None:
    whole = (await post(query="tabs spaces"))["items"]
    least = whole[2]["score"]
    cut = (await post(query="tabs spaces", min_score_threshold=least))["items"]
    assert [item["id"] for item in cut] == [i["id"] for i in whole if i["score"] >= least]


async def test_a_page_is_the_beginning_of_a_longer_one(post: Post) -> None:
    whole, page = await asyncio.gather(
        post(query="tabs spaces", limit=100), post(query="tabs spaces", limit=3)
    )
    assert titles(page) == titles(whole)[:3]
    assert [i["score"] for i in page["items"]] == [i["score"] for i in whole["items"][:3]]


async def test_vector_search_scores_by_similarity_alone(post: Post) -> None:
    data = await post(VECTOR, query="The team prefers tabs over spaces.")
    first = data["items"][0]
    assert first["title"] == "Tabs"
    assert first["score_breakdown"] == {"vector_similarity": first["score"]}
    scores = [item["score"] for item in data["items"]]
    assert scores == sorted(scores, reverse=True)
    assert first["metadata"]["memory_type"] == "fact"
    assert first["metadata"]["confidence"] == 0.75
    assert first["metadata"]["user_id"] == USER
    assert first["metadata"]["source_type"] == first["source_type"] == "direct_input"
    assert data["analyzed_query"] == {
        "original": "The team prefers tabs over spaces.",
        "embedding_generated": True,
        "filters_applied": False,
        "search_type": "vector_similarity",
        "include_neighbors": 2,
    } | {name: data["analyzed_query"][name] for name in ("read_as", "warnings")}
    metadata = data["search_metadata"]
    assert metadata["search_method"] == "vector_similarity"
    assert (metadata["max_results"], metadata["include_neighbors"]) == (20, 2)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"filters": {"memory_types": ["fact", "insight"]}}, {"Tabs", "Spaces"}),
        ({"filters": {"min_importance": 0.5}}, {"Tabs"}),
        ({"filters": {"user_id": USER.upper()}}, {"Tabs"}),
        ({"filters": {"user_id": USER.replace("6f", "70")}}, set()),
        ({"filters": {}, "tags": "old"}, {"Debate"}),
        ({"filters": None, "tags_all": "style,team"}, {"Tabs"}),
    ],
)
async def test_vector_search_filters(post: Post, body: dict[str, Any], found: set[str]) -> None:
    data = await post(VECTOR, query="tabs spaces", **body)
    assert set(titles(data)) == found
    assert data["analyzed_query"]["filters_applied"] is True


async def test_the_query_language_holds_here_too(post: Post) -> None:
    for path in (HYBRID, VECTOR):
        data = await post(path, query="tabs -spaces type:fact")
        assert titles(data) == []
        data = await post(path, query="spaces type:memory -tag:team")
        assert set(titles(data)) == {"Spaces"}
        assert data["analyzed_query"]["read_as"]["excluded"] == ["tag:team"]
    data = await post(VECTOR, query="tabs type:fact")
    assert titles(data) == ["Tabs"]
    assert data["analyzed_query"]["filters_applied"] is True


async def test_an_unclosed_quote_is_read_as_text_with_a_warning(post: Post) -> None:
    data = await post(query='"tabs over')
    assert "Tabs" in titles(data)
    assert data["analyzed_query"]["warnings"]


async def test_a_question_of_filters_alone_lists_what_passes(post: Post) -> None:
    for path in (HYBRID, VECTOR):
        data = await post(path, query="tag:style", limit=1)
        assert titles(data) == ["Spaces"]
        assert data["items"][0]["score"] == 0.0
        assert "newest" in data["search_metadata"]["mode"]["notices"][0]


async def test_stats_count_memories_documents_and_relationships(filled: Client) -> None:
    await settled(lifecycle_of(filled).runtime)
    body = await (await filled.get(STATS)).json()
    last = body["data"].pop("last_indexed")
    assert last.endswith("Z")
    assert body["data"] == {
        "total_memories": 9,
        "total_documents": 3,
        "total_relationships": 2,
        "embedding_coverage": 1.0,
    }
    assert body["status"] == "success"
    assert "meta" in body


async def test_an_empty_store_answers_with_nothing(empty: Client) -> None:
    for path in (HYBRID, VECTOR):
        reply = await empty.post(path, json={"query": "tabs"})
        assert (reply.status, (await reply.json())["data"]["items"]) == (200, [])
    data = (await (await empty.get(STATS)).json())["data"]
    assert data["last_indexed"] is None
    assert data["embedding_coverage"] == 1.0
