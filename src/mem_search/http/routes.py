"""The URL map: every operation of the worker, one line each."""

from __future__ import annotations

# ruff: noqa: E501 - a route is a row of a table
from functools import partial
from typing import Any

from mem_search.features.access import http as access
from mem_search.features.archives import http as archives
from mem_search.features.backup import http as backup
from mem_search.features.capture import http as capture
from mem_search.features.citations import http as citations
from mem_search.features.claude_mem import http as claude_mem
from mem_search.features.claude_mem.clients import CLIENTS
from mem_search.features.context import http as context
from mem_search.features.documents import http as documents
from mem_search.features.forgetting import http as forgetting
from mem_search.features.graph import http as graph
from mem_search.features.research import http as research
from mem_search.features.saved_searches import http as saved_searches
from mem_search.features.scopes import http as scopes
from mem_search.features.search_jobs import http as search_jobs
from mem_search.features.timeline import http as timeline
from mem_search.features.webhooks import http as webhooks
from mem_search.features.weighted import http as weighted
from mem_search.features.why import http as why
from mem_search.http import (
    about,
    batch,
    exports,
    jobs,
    mcp,
    metrics,
    record_changes,
    record_page,
    records,
    search,
    stats,
    suggest,
    universal,
    viewer,
)
from mem_search.http.core.event_stream import CONTENT_TYPE as EVENTS
from mem_search.http.core.parameters import (
    ConceptParameters,
    FileParameters,
    KindParameters,
    ListParameters,
    PlatformParameters,
    RecordParameters,
    TypeParameters,
)
from mem_search.http.core.replies import HTML, JSON, TEXT
from mem_search.http.core.routing import ANY_TYPE, Route, shared_with
from mem_search.http.first_routes import FIRST_ABOUT, FIRST_SEARCH, FOUND
from mem_search.http.schemas import jobs as job_schemas
from mem_search.http.schemas import stats as stats_schemas
from mem_search.http.schemas.common import Deleted, TextReply
from mem_search.http.schemas.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers.record_json import RecordExcerpt, WholeRecord
from mem_search.renderers.search_reply import ChosenReply, SearchReply
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
    *(TAGGED(f"/api/search/{kind.plural}", search.search(kind.name), f"Search {kind.plural}, best first", "search", KindParameters, response=FOUND, successor="" if kind.coding else UNIVERSAL_PATH) for kind in installed_kinds()),
    POST("/api/search/batch", batch.search, "Run several searches, as /api/search does", "search", body=batch.BatchBody, response=batch.BatchReply),
    TAGGED("/api/search/by-concept", search.search(), "Search the records with a concept", "search", ConceptParameters, response=FOUND),
    TAGGED("/api/search/by-file", search.search(), "Search the records about a file", "search", FileParameters, response=FOUND),
    TAGGED("/api/search/by-type", search.search(), "Search observations of a type", "search", TypeParameters, response=FOUND),
    TAGGED("/api/decisions", search.search("observation", topic=search.DECISIONS), "Search decisions", "search", KindParameters, response=FOUND),
    TAGGED("/api/changes", search.search("observation", topic=search.CHANGES), "Search changes", "search", KindParameters, response=FOUND),
    TAGGED("/api/how-it-works", search.search("observation", topic=search.HOW_IT_WORKS), "Search explanations of how things work", "search", KindParameters, response=FOUND),
    GET("/api/search/related", suggest.related, "Suggest further searches for a question", "suggest", suggest.RelatedParameters, response=suggest.RelatedSearches),
    GET("/api/search/popular", suggest.popular, "List the most frequent questions", "suggest", suggest.LogParameters, response=suggest.LoggedQueries),
    GET("/api/search/zero-results", suggest.zero_results, "List the questions without results", "suggest", suggest.LogParameters, response=suggest.LoggedQueries),
    GET("/api/search/slow", suggest.slow, "List the slowest searches", "suggest", suggest.LogParameters, response=suggest.LoggedSearches),
    DELETE("/api/search/log", suggest.forget, "Empty the search log", "suggest", write=True, response=Deleted),
    GET("/api/suggest", suggest.suggest, "Complete what is being typed", "suggest", suggest.SuggestParameters, response=suggest.Completions, other_types=(TEXT,)),
    GET("/api/search/help", about.search_help, "Explain routes and parameters as text", "search", early=True, response=TextReply),
)
UNIVERSAL = (
    POST(UNIVERSAL_PATH, universal.search, "Search all records, with citations", "universal", body=UniversalSearchRequest, response=UniversalSearchResponse | ChosenSearchResponse, errors=(404, 409)),
    POST("/api/v1/mcp/search", universal.agent_search, "Search for research agents, with short results", "universal", body=McpSearchRequest, response=McpSearchResponse),
    POST("/api/v1/mcp/fetch", universal.agent_fetch, "Open a whole record with its citation", "universal", body=McpFetchRequest, response=McpFetchResponse, errors=(404, 409)),
    GET("/v/{ref}", record_page.show, "Show a record as a web page", "universal", content_type=HTML, other_types=(JSON,), response=WholeRecord, page="record/{ref}"),
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
    POST("/api/records", record_changes.add, "Add a record", "records", record_changes.NewRecordParameters, body=record_changes.NewRecordBody, write=True, status=CREATED, response=WholeRecord, errors=(409,)),
    PUT("/api/records/{ref}", record_changes.put, "Replace a record", "records", body=record_changes.WholeRecordBody, write=True, response=WholeRecord),
    PATCH("/api/records/{ref}", record_changes.patch, "Change some fields of a record", "records", body=record_changes.RecordPatch, write=True, response=WholeRecord),
)
INTAKE = (
    POST("/api/sync", jobs.sync, "Import what is new on this machine", "import", body=jobs.SyncBody, write=True, defers=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    POST("/api/unfollow", jobs.unfollow, "Stop reading a location", "import", body=jobs.UnfollowBody, write=True, only="owner", response=job_schemas.Unfollowed, errors=(404,)),
    POST("/api/import", jobs.import_file, "Import a file of this machine", "import", body=jobs.ImportBody, write=True, defers=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    POST("/api/import/upload", jobs.import_upload, "Import the file in the body", "import", jobs.UploadParameters, body_type=ANY_TYPE, write=True, defers=True, status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    POST("/api/import/jsonl", jobs.import_lines, "Import the records in the body, one a line", "import", jobs.UploadedName, body_type=jobs.NDJSON, write=True, defers=True, status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    GET("/api/export", exports.export_records, "Export all records, one a line", "import", exports.ExportParameters, write=True, content_type=jobs.NDJSON),
    *backup.ROUTES,
    GET("/api/jobs", jobs.newest, "List jobs, newest first", "import", jobs.JobListParameters, write=True, response=job_schemas.Jobs),
    GET("/api/jobs/events", jobs.events, "Send the newest jobs again whenever one changes", "import", jobs.JobListParameters, write=True, content_type=EVENTS, is_rest=False),
    GET("/api/jobs/{id}", jobs.one, "Show a job", "import", write=True, response=job_schemas.Job),
    POST("/api/jobs/{id}/cancel", jobs.cancel, "Cancel a job", "import", write=True, defers=True, response=job_schemas.Job, errors=(409,)),
    POST("/api/jobs/{id}/retry", jobs.retry, "Run a job again", "import", body=jobs.RetryBody, write=True, response=job_schemas.Job, errors=(409,)),
    POST("/api/index/audit", jobs.submit("audit"), "Compare the vector index with the store", "import", write=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    POST("/api/reembed", jobs.reembed, "Change the embedding model while searches go on", "import", body=jobs.ReembedBody, write=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
    POST("/api/compress", jobs.compress, "Shorten agents' work by a language model, or take that back", "import", body=jobs.CompressBody, write=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(409, 429)),
    POST("/api/index/rebuild", jobs.submit("rebuild"), "Rebuild the vector index", "import", write=True, only="owner", status=ACCEPTED, response=job_schemas.SubmittedJob, errors=(429,)),
)
EXPORTS = (
    GET("/api/search/export", exports.export_results, "Export the results of a search as a file", "citations", exports.SearchExportParameters, content_type="text/csv", other_types=exports.CONTENT_TYPES, response=SearchReply | ChosenReply, private=True),
)
ABOUT = (
    *FIRST_ABOUT,
    GET("/metrics", metrics.metrics, "Show metrics for a monitoring system", "about", content_type=TEXT, only="owner", errors=(404,), private=True),
    GET("/api/version", about.version, "Show the version", "about", early=True, response=about.Version),
    GET("/api/projects", stats.projects, "List projects, the last active first", "about", PlatformParameters, response=stats_schemas.Projects),
    GET("/api/stats", stats.totals, "Count what is stored and indexed", "about", response=stats_schemas.Stats, private=True),
    GET("/api/ledger", stats.ledger, "List what became of each item that a source read", "about", stats.LedgerParameters, response=stats_schemas.Ledger, private=True),
    *why.ROUTES,
    GET("/openapi.json", about.openapi_json, "Describe this API as OpenAPI 3.1", "about", early=True, response=dict[str, Any]),
    GET("/docs", about.docs, "Show all operations on one page", "about", early=True, content_type=HTML),
    POST("/mcp", mcp.answer, "MCP over streamable HTTP", "mcp", waits=True, is_rest=False),
)
VIEWER = (
    GET("/", viewer.page, "Show the viewer", "viewer", early=True, content_type=HTML, is_rest=False),
    GET("/viewer/{name}", viewer.file(), "A file of the viewer", "viewer", early=True, content_type=ANY_TYPE, is_rest=False),
    GET("/viewer/vendor/{name}", viewer.file("vendor/"), "A file that the viewer uses", "viewer", early=True, content_type=ANY_TYPE, is_rest=False),
    POST("/api/viewer/links", viewer.link, "Create a link that logs one browser in, once", "access", write=True, only="home", response=viewer.ViewLink, errors=(409,)),
    GET("/api/viewer/settings", viewer.settings, "List the settings of the worker", "access", write=True, only="home", response=viewer.SettingList),
    POST("/api/viewer/sessions", viewer.login, "Log this browser in by the code of a link", "viewer", body=viewer.LoginBody, login=True, only="home", status=CREATED, response=viewer.NewSession),
    GET("/api/viewer/sessions", viewer.sessions, "List the browsers that are logged in", "access", write=True, only="home", response=viewer.SessionList),
    DELETE("/api/viewer/sessions/{id}", viewer.end_session, "Log a browser out", "access", write=True, only="home", response=Deleted),
)
# fmt: on
_ALL = (
    *SEARCH,
    *UNIVERSAL,
    *search_jobs.ROUTES,
    *research.ROUTES,
    *saved_searches.ROUTES,
    *scopes.ROUTES,
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
    *EXPORTS,
    *access.ROUTES,
    *ABOUT,
    *claude_mem.ROUTES,
    *VIEWER,
)
ROUTES: tuple[Route, ...] = shared_with(CLIENTS, _ALL, claude_mem.INSTEAD)
