"""The URL map: every operation of the worker, one line each."""

# ruff: noqa: E501 - a route is a row of a table
from __future__ import annotations

from functools import partial

from mem_search.http import (
    about,
    access,
    citations,
    context,
    export,
    graph,
    jobs,
    mcp,
    numbers,
    records,
    search,
    search_export,
    suggest,
    timeline,
    topics,
    viewer,
)
from mem_search.http.parameters import (
    ByConcept,
    ByFile,
    ByType,
    KindParameters,
    Listed,
    OfPlatform,
    Opened,
    SearchParameters,
)
from mem_search.http.routing import Route
from mem_search.http.v1 import kept_shapes
from mem_search.http.v1 import mcp as v1_mcp
from mem_search.http.v1 import search as v1_search
from mem_search.http.v1.models import McpFetchRequest, McpSearchRequest, UniversalSearchRequest
from mem_search.http.v1.routes import REMEMBERED
from mem_search.http.v1.shapes import (
    McpFetchResponse,
    McpSearchResponse,
    UniversalSearchResponse,
)
from mem_search.http.v2 import hybrid, vector
from mem_search.http.v2.models import HybridBody, VectorBody
from mem_search.http.v2.stats import search_stats
from mem_search.model import Kind
from mem_search.records import KINDS

GET, POST, DELETE = (partial(Route, method) for method in ("GET", "POST", "DELETE"))
ACCEPTED = 202
UNIVERSAL_PATH = "/api/v1/search"
CODING: tuple[Kind, ...] = ("observation", "session_summary", "user_prompt")
"""Their routes are claude-mem's and take what the universal search does not (type, file, …)."""

# fmt: off
SEARCH = (
    GET("/api/search/unified", search.unified, "Search everything, newest first", "search", SearchParameters),
    GET("/api/search", search.everything, "Search everything, best first", "search", SearchParameters),
    *(GET(f"/api/search/{kind.plural}", search.of_kind(kind.name), f"Search {kind.plural}, best first", "search", KindParameters, successor="" if kind.name in CODING else UNIVERSAL_PATH) for kind in KINDS),
    GET("/api/search/by-concept", search.filtered, "What has a concept", "search", ByConcept),
    GET("/api/search/by-file", search.filtered, "What touched a file", "search", ByFile),
    GET("/api/search/by-type", search.filtered, "Observations of a type", "search", ByType),
    GET("/api/decisions", topics.about(topics.DECISIONS), "Decisions", "search", KindParameters),
    GET("/api/changes", topics.about(topics.CHANGES), "Changes", "search", KindParameters),
    GET("/api/how-it-works", topics.about(topics.HOW_IT_WORKS), "How things work", "search", KindParameters),
    GET("/api/search/related", suggest.related, "Further searches beside a question", "suggest", suggest.RelatedParameters),
    GET("/api/search/popular", suggest.popular, "What is asked most often", "suggest", suggest.LogParameters),
    GET("/api/search/zero-results", suggest.zero_results, "What was asked in vain", "suggest", suggest.LogParameters),
    GET("/api/search/slow", suggest.slow, "The searches that took longest", "suggest", suggest.LogParameters),
    DELETE("/api/search/log", suggest.forget, "Forget what was asked", "suggest", write=True),
    GET("/api/suggest", suggest.suggest, "How what is being typed may go on", "suggest", suggest.SuggestParameters),
    GET("/api/search/help", about.search_help, "Routes and parameters as a text", "search", early=True),
)
UNIVERSAL = (
    POST(UNIVERSAL_PATH, v1_search.search, "Search everything, with citations", "universal", body=UniversalSearchRequest, answers=UniversalSearchResponse, refuses=(404, 409)),
    POST("/api/v1/mcp/search", v1_mcp.search, "Search as research agents do", "universal", body=McpSearchRequest, answers=McpSearchResponse),
    POST("/api/v1/mcp/fetch", v1_mcp.fetch, "One whole record with its citation", "universal", body=McpFetchRequest, answers=McpFetchResponse, refuses=(404, 409)),
    GET("/v/{ref}", viewer.view, "A record as a page to read", "universal", reply="text/html"),
)
WEIGHTED = (
    POST("/api/v2/search/hybrid", hybrid.search, "Search by words, meaning and links with your own weights", "weighted", body=HybridBody),
    POST("/api/v2/search/vector", vector.search, "Search by meaning alone", "weighted", body=VectorBody),
    GET("/api/v2/search/stats", search_stats, "What can be searched", "weighted"),
)
TIMELINE = (
    GET("/api/timeline", timeline.timeline, "What happened around a record, a moment or an answer", "timeline", timeline.TimelineParameters, refuses=(404, 429)),
    GET("/api/timeline/by-query", timeline.by_query, "What happened around the best answer", "timeline", timeline.ByQueryParameters, refuses=(404,)),
    GET("/api/context/timeline", timeline.timeline, "The same as /api/timeline", "timeline", timeline.TimelineParameters, refuses=(404, 429)),
    GET("/api/context/recent", context.recent, "The newest sessions and what was seen there", "timeline", context.RecentParameters),
)
RECORDS = (
    GET("/api/records/{ref}", records.open_ref, "Open a record by its ref", "records", Opened),
    GET("/api/graph/{ref}", graph.related, "What is related to a record", "records", graph.GraphParameters),
    GET("/api/observation/{number}", records.open_kind("observation"), "Open an observation", "records", Opened),
    GET("/api/session/{number}", records.open_kind("session_summary"), "Open a session summary", "records", Opened),
    GET("/api/prompt/{number}", records.open_kind("user_prompt"), "Open a prompt", "records", Opened),
    POST("/api/records/batch", records.batch_refs, "Open several records by their refs", "records", body=records.RefsBody),
    POST("/api/observations/batch", records.batch_numbers, "Open several observations by their numbers", "records", body=records.NumbersBody),
    GET("/api/observations", records.list_kind("observation"), "Observations, newest first", "records", Listed),
    GET("/api/summaries", records.list_kind("session_summary"), "Session summaries, newest first", "records", Listed),
    GET("/api/prompts", records.list_kind("user_prompt"), "Prompts, newest first", "records", Listed),
    DELETE("/api/records/{ref}", records.forget_ref, "Forget a record for good", "records", write=True),
    DELETE("/api/observation/{number}", records.forget_kind("observation"), "Forget an observation", "records", write=True),
    DELETE("/api/session/{number}", records.forget_kind("session_summary"), "Forget a session summary", "records", write=True),
    DELETE("/api/summary/{number}", records.forget_kind("session_summary"), "Forget a session summary", "records", write=True),
    DELETE("/api/prompt/{number}", records.forget_kind("user_prompt"), "Forget a prompt", "records", write=True),
)
INTAKE = (
    POST("/api/sync", jobs.sync, "Read what is new on this machine", "intake", body=jobs.SyncBody, write=True, only="person", status=ACCEPTED, refuses=(429,)),
    POST("/api/unfollow", jobs.unfollow, "Look at a place no more", "intake", body=jobs.UnfollowBody, write=True, only="person", refuses=(404,)),
    POST("/api/import", jobs.import_file, "Read a file of this machine", "intake", body=jobs.ImportBody, write=True, only="person", status=ACCEPTED, refuses=(429,)),
    POST("/api/import/jsonl", jobs.import_upload, "Read the records in the body, one a line", "intake", jobs.UploadParameters, body_type=jobs.NDJSON, write=True, status=ACCEPTED, refuses=(429,)),
    GET("/api/export", export.export, "All records, one a line", "intake", export.ExportParameters, write=True, reply=jobs.NDJSON),
    GET("/api/jobs", jobs.newest, "Jobs, newest first", "intake", jobs.Newest, write=True),
    GET("/api/jobs/{id}", jobs.one, "One job", "intake", write=True),
    POST("/api/jobs/{id}/cancel", jobs.cancel, "Stop a job", "intake", write=True, refuses=(409,)),
    POST("/api/index/audit", jobs.submit("audit"), "Compare the vector index with the store", "intake", write=True, only="person", status=ACCEPTED, refuses=(429,)),
    POST("/api/index/rebuild", jobs.submit("rebuild"), "Fill the vector index anew", "intake", write=True, only="person", status=ACCEPTED, refuses=(429,)),
)
ACCESS = (
    POST("/api/v1/tokens", access.create_token, "Make a token", "access", body=access.TokenBody, write=True, only="home", status=201, answers=kept_shapes.NewToken, refuses=(409,)),
    GET("/api/v1/tokens", access.tokens, "The tokens given out", "access", write=True, only="home", answers=kept_shapes.GivenTokens),
    DELETE("/api/v1/tokens/{name}", access.revoke_token, "Revoke a token", "access", write=True, only="home", answers=kept_shapes.RevokedToken),
    GET("/api/v1/users", access.users, "Users with a store of their own", "access", write=True, only="home", answers=kept_shapes.KnownUsers),
    DELETE("/api/v1/users/{name}", access.remove_user, "Remove a user and all that they stored", "access", write=True, only="home", answers=kept_shapes.RemovedUser, refuses=(409,)),
)
ABOUT = (
    GET("/health", about.health, "Alive", "about", early=True),
    GET("/api/health", about.api_health, "Who answers here", "about", early=True),
    GET("/api/readiness", about.readiness, "Whether searches are answered", "about", early=True),
    GET("/api/version", about.version, "The version", "about", early=True),
    GET("/api/projects", numbers.projects, "Projects", "about", OfPlatform),
    GET("/api/stats", numbers.totals, "What is stored and indexed", "about"),
    GET("/api/ledger", numbers.ledger, "What became of each item a source saw", "about", numbers.LedgerParameters),
    GET("/openapi.json", about.openapi_json, "This API as OpenAPI 3.1", "about", early=True),
    GET("/docs", about.docs, "The operations on one page", "about", early=True, reply="text/html"),
    POST("/mcp", mcp.answer, "MCP, streamable HTTP", "mcp", waits=True, is_rest=False),
    GET("/", about.to_docs, "To the documentation", "about", early=True, status=302, reply=""),
)
CITATIONS = (
    GET("/api/citations", citations.cite, "Cite records, in a style or as a file", "citations", citations.CitationParameters, reply="text/plain", replies=citations.CONTENT_TYPES, refuses=(404,)),
    POST("/api/citations", citations.cite_body, "Cite records, in a style or as a file", "citations", body=citations.CitationsBody, reply="text/plain", replies=citations.CONTENT_TYPES, refuses=(404,)),
    GET("/api/search/export", search_export.export, "Results of a search as a file", "citations", search_export.SearchExportParameters, reply="text/csv", replies=search_export.CONTENT_TYPES),
)
# fmt: on
ROUTES: tuple[Route, ...] = (
    *SEARCH,
    *UNIVERSAL,
    *REMEMBERED,
    *WEIGHTED,
    *TIMELINE,
    *RECORDS,
    *INTAKE,
    *CITATIONS,
    *ACCESS,
    *ABOUT,
)
