"""The URL map: every operation of the worker, one line each."""

from __future__ import annotations

from functools import partial
from typing import Any

from mem_search.features.access import http as access
from mem_search.features.archives import http as archives
from mem_search.features.backup import http as backup
from mem_search.features.batch import http as batch
from mem_search.features.capture import http as capture
from mem_search.features.citations import http as citations
from mem_search.features.context import http as context
from mem_search.features.documents import http as documents
from mem_search.features.exports import http as exports
from mem_search.features.forgetting import http as forgetting
from mem_search.features.graph import http as graph
from mem_search.features.imports import http as imports
from mem_search.features.learning import http as learning
from mem_search.features.mirror import http as mirror
from mem_search.features.projects import http as projects
from mem_search.features.record_changes import http as record_changes
from mem_search.features.research import http as research
from mem_search.features.saved_searches import http as saved_searches
from mem_search.features.scopes import http as scopes
from mem_search.features.search_jobs import http as search_jobs
from mem_search.features.stats import http as stats
from mem_search.features.suggest import http as suggest
from mem_search.features.timeline import http as timeline
from mem_search.features.viewer import http as viewer
from mem_search.features.webhooks import http as webhooks
from mem_search.features.weighted import http as weighted
from mem_search.features.why import http as why
from mem_search.http import about, jobs, mcp, mounts, records, search, universal
from mem_search.http.core.parameters import (
    KindParameters,
    ListParameters,
    RecordParameters,
)
from mem_search.http.core.replies import HTML, JSON, TEXT, TextReply
from mem_search.http.core.routing import Route
from mem_search.http.first_routes import FIRST_ABOUT, FIRST_SEARCH, FOUND
from mem_search.http.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers.record_json import RecordExcerpt, WholeRecord
from mem_search.renderers.universal import (
    ChosenSearchResponse,
    McpFetchResponse,
    McpSearchResponse,
    UniversalSearchResponse,
)

GET, POST, PUT, PATCH, DELETE = (
    partial(Route, method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
)
TAGGED = partial(Route, "GET", tagged=True)
CREATED, ACCEPTED = 201, 202
UNIVERSAL_PATH = "/api/v1/search"
OPENED: Any = records.OpenedRecord | RecordExcerpt | records.RecordText

# fmt: off
SEARCH = (
    *FIRST_SEARCH,
    *(TAGGED(f"/api/search/{kind.plural}", search.search(kind.name), f"Search {kind.plural}, best first", "search", KindParameters, response=FOUND, successor="" if kind.coding else UNIVERSAL_PATH) for kind in (*installed_kinds(), *installed_kinds().varieties.values())),
    *batch.ROUTES,
    *(TAGGED(f"/{kind}s/search", search.search(kind), f"Search {kind}s, best first", "search", KindParameters, response=FOUND, successor=UNIVERSAL_PATH) for kind in batch.ALIASED),
    TAGGED("/api/search/by-concept", search.search(), "Search the records with a concept", "search", search.ConceptParameters, response=FOUND),
    TAGGED("/api/search/by-file", search.search(), "Search the records about a file", "search", search.FileParameters, response=FOUND),
    TAGGED("/api/search/by-type", search.search(), "Search observations of a type", "search", search.TypeParameters, response=FOUND),
    TAGGED("/api/decisions", search.search("observation", topic=search.DECISIONS), "Search decisions", "search", KindParameters, response=FOUND),
    TAGGED("/api/changes", search.search("observation", topic=search.CHANGES), "Search changes", "search", KindParameters, response=FOUND),
    TAGGED("/api/how-it-works", search.search("observation", topic=search.HOW_IT_WORKS), "Search explanations of how things work", "search", KindParameters, response=FOUND),
    *suggest.ROUTES,
    GET("/api/search/help", about.search_help, "Explain routes and parameters as text", "search", early=True, response=TextReply),
)
UNIVERSAL = (
    POST(UNIVERSAL_PATH, universal.search, "Search all records, with citations", "universal", body=UniversalSearchRequest, response=UniversalSearchResponse | ChosenSearchResponse, errors=(404, 409)),
    POST("/api/v1/mcp/search", universal.agent_search, "Search for research agents, with short results", "universal", body=McpSearchRequest, response=McpSearchResponse),
    POST("/api/v1/mcp/fetch", universal.agent_fetch, "Open a whole record with its citation", "universal", body=McpFetchRequest, response=McpFetchResponse, errors=(404, 409)),
    GET("/v/{ref}", records.show, "Show a record as a web page", "universal", content_type=HTML, other_types=(JSON,), response=WholeRecord, page="record/{ref}"),
)
RECORDS = (
    GET("/api/records/{ref}", records.open_ref, "Open a record by its ref", "records", RecordParameters, response=OPENED),
    *graph.ROUTES,
    GET("/api/observation/{number}", records.open_kind("observation"), "Open an observation", "records", RecordParameters, response=OPENED),
    GET("/api/session/{number}", records.open_kind("session_summary"), "Open a session summary", "records", RecordParameters, response=OPENED),
    GET("/api/prompt/{number}", records.open_kind("user_prompt"), "Open a prompt", "records", RecordParameters, response=OPENED),
    POST("/api/records/batch", records.batch_refs, "Open several records by their refs", "records", body=records.RefsBody, response=records.Records),
    POST("/api/observations/batch", records.batch_numbers, "Open several records by their numbers", "records", body=records.NumbersBody, response=list[WholeRecord]),
    GET("/api/observations", records.list_kind("observation"), "List observations, newest first", "records", ListParameters, response=records.RecordList),
    GET("/api/summaries", records.list_kind("session_summary"), "List session summaries, newest first", "records", ListParameters, response=records.RecordList),
    GET("/api/prompts", records.list_kind("user_prompt"), "List prompts, newest first", "records", ListParameters, response=records.RecordList),
    *forgetting.ROUTES,
    *record_changes.ROUTES,
)
INTAKE = (
    *imports.ROUTES,
    *backup.ROUTES,
    *mirror.ROUTES,
    *jobs.ROUTES,
)
ABOUT = (
    *FIRST_ABOUT,
    GET("/metrics", about.metrics, "Show metrics for a monitoring system", "about", content_type=TEXT, only="owner", errors=(404,), private=True),
    GET("/api/version", about.version, "Show the version", "about", early=True, response=about.Version),
    *stats.ROUTES,
    *projects.ROUTES,
    *why.ROUTES,
    GET("/openapi.json", about.openapi_json, "Describe this API as OpenAPI 3.1", "about", early=True, response=dict[str, Any]),
    GET("/docs", about.docs, "Show all operations on one page", "about", early=True, content_type=HTML),
    POST("/mcp", mcp.answer, "MCP over streamable HTTP", "mcp", waits=True, is_rest=False),
)
# fmt: on
_ALL = (
    *SEARCH,
    *UNIVERSAL,
    *search_jobs.ROUTES,
    *research.ROUTES,
    *saved_searches.ROUTES,
    *scopes.ROUTES,
    *learning.ROUTES,
    *webhooks.ROUTES,
    *weighted.ROUTES,
    *timeline.ROUTES,
    *context.ROUTES,
    *capture.ROUTES,
    *RECORDS,
    *documents.ROUTES,
    *INTAKE,
    *archives.ROUTES,
    *citations.ROUTES,
    *exports.ROUTES,
    *access.ROUTES,
    *ABOUT,
    *viewer.ROUTES,
)
ROUTES: tuple[Route, ...] = mounts.installed().with_routes(_ALL)
