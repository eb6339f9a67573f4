"""The URL map: every operation of the worker, one line each."""

from __future__ import annotations

# ruff: noqa: E501 - a route is a row of a table
from functools import partial

# ruff: noqa: E501 - a route is a row of a table
from mem_search.http import (
    about,
    citations,
    context,
    exports,
    graph,
    jobs,
    mcp,
    records,
    research,
    saved_searches,
    scopes,
    search,
    search_jobs,
    stats,
    suggest,
    timeline,
    viewer,
    webhooks,
)
from mem_search.http import universal as v1_mcp
from mem_search.http import universal as v1_search
from mem_search.http.access import tokens
from mem_search.http.core.paging import (
    ExportParameters,
    JobsListing,
    Listing,
    NotificationsListing,
    OperationsListing,
    ReplayParameters,
    SessionReplayParameters,
)
from mem_search.http.core.parameters import (
    ByConcept,
    ByFile,
    ByType,
    KindParameters,
    Listed,
    OfPlatform,
    Opened,
    SearchParameters,
)
from mem_search.http.core.routing import ANY_TYPE, Route
from mem_search.http.saved_searches import SavedSearchBody, SavedSearchPlan
from mem_search.http.schemas import stored
from mem_search.http.schemas import stored as shapes
from mem_search.http.schemas.universal import (
    McpFetchResponse,
    McpSearchResponse,
    UniversalSearchResponse,
)
from mem_search.http.schemas.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)
from mem_search.http.scopes import ScopeBody
from mem_search.http.stats import search_stats
from mem_search.http.weighted import hybrid, vector
from mem_search.http.weighted.requests import HybridBody, VectorBody
from mem_search.model import Kind
from mem_search.records.registry import installed_kinds

GET, POST, PUT, DELETE = (partial(Route, method) for method in ("GET", "POST", "PUT", "DELETE"))
CREATED = 201

# fmt: off
REMEMBERED = (
    GET("/api/v1/search/jobs", search_jobs.newest, "Searches in the background", "research", JobsListing, answers=shapes.SearchJobs),
    GET("/api/v1/search/jobs/{id}", search_jobs.one, "One search in the background, with its result", "research", answers=shapes.SearchJobResult),
    POST("/api/v1/search/jobs/{id}/cancel", search_jobs.cancel, "End a search in the background", "research", write=True, answers=shapes.SearchJobResult, refuses=(409,)),
    DELETE("/api/v1/search/jobs/{id}", search_jobs.delete, "End a search in the background, or forget it", "research", write=True, answers=shapes.EndedOrDeleted, refuses=(409,)),
    GET("/api/v1/search/operations", research.listed, "Steps of research, newest first", "research", OperationsListing, answers=shapes.ResearchSteps),
    GET("/api/v1/search/operations/{id}", research.one, "One step of research, whole", "research", answers=shapes.WholeStep),
    POST("/api/v1/search/operations/{id}/replay", research.replay, "Do a step again and tell what differs", "research", ReplayParameters, research=True, answers=shapes.Replayed, refuses=(409,)),
    GET("/api/v1/search/sessions", research.sessions, "Research sessions, last active first", "research", Listing, answers=shapes.ResearchSessions),
    GET("/api/v1/search/sessions/{id}", research.session, "A research session as trees", "research", answers=shapes.SessionTree),
    POST("/api/v1/search/sessions/{id}/replay", research.replay_session, "Do all steps of a session again", "research", SessionReplayParameters, answers=shapes.ReplayedSession, refuses=(429,)),
    GET("/api/v1/search/sessions/{id}/export", research.export, "A session with its citations", "research", ExportParameters, replies=("text/markdown",), answers=shapes.ExportedSession),
    DELETE("/api/v1/search/sessions/{id}", research.forget, "Forget a research session", "research", write=True, answers=shapes.Deleted),
    GET("/api/v1/saved-searches", saved_searches.listed, "Saved searches", "saved", answers=shapes.SavedSearches),
    POST("/api/v1/saved-searches", saved_searches.create, "Save a search", "saved", body=SavedSearchBody, write=True, status=CREATED, answers=shapes.SavedSearch, refuses=(409,)),
    GET("/api/v1/saved-searches/{name}", saved_searches.one, "One saved search", "saved", answers=shapes.SavedSearch),
    PUT("/api/v1/saved-searches/{name}", saved_searches.change, "Change a saved search", "saved", body=SavedSearchPlan, write=True, answers=shapes.SavedSearch),
    DELETE("/api/v1/saved-searches/{name}", saved_searches.remove, "Forget a saved search", "saved", write=True, answers=shapes.Deleted),
    POST("/api/v1/saved-searches/{name}/run", saved_searches.run, "Run a saved search now", "saved", write=True, answers=shapes.SavedSearchRun, refuses=(429,)),
    GET("/api/v1/notifications", saved_searches.inbox, "What saved searches have told", "saved", NotificationsListing, answers=shapes.Notifications),
    POST("/api/v1/notifications/{number}/read", saved_searches.read, "Mark a notification as read", "saved", write=True, answers=shapes.Notification),
    DELETE("/api/v1/notifications/{number}", saved_searches.dismiss, "Delete a notification", "saved", write=True, answers=shapes.Deleted),
    GET("/api/v1/scopes", scopes.listed, "Scopes: filters with a name", "saved", answers=shapes.Scopes),
    GET("/api/v1/scopes/{name}", scopes.one, "One scope", "saved", answers=shapes.Scope),
    PUT("/api/v1/scopes/{name}", scopes.put, "Keep a scope", "saved", body=ScopeBody, write=True, answers=shapes.Scope),
    DELETE("/api/v1/scopes/{name}", scopes.remove, "Delete a scope", "saved", write=True, answers=shapes.Deleted),
    GET("/api/v1/webhooks/secret", webhooks.secret, "The secret that webhooks are signed with", "saved", write=True, answers=shapes.WebhookSecret),
)
# fmt: on

GET, POST, DELETE = (partial(Route, method) for method in ("GET", "POST", "DELETE"))
ACCEPTED = 202
UNIVERSAL_PATH = "/api/v1/search"
CODING: tuple[Kind, ...] = ("observation", "session_summary", "user_prompt")
"""Their routes are claude-mem's and take what the universal search does not (type, file, …)."""

# fmt: off
SEARCH = (
    GET("/api/search/unified", search.unified, "Search everything, newest first", "search", SearchParameters),
    GET("/api/search", search.everything, "Search everything, best first", "search", SearchParameters),
    *(GET(f"/api/search/{kind.plural}", search.of_kind(kind.name), f"Search {kind.plural}, best first", "search", KindParameters, successor="" if kind.name in CODING else UNIVERSAL_PATH) for kind in installed_kinds()),
    GET("/api/search/by-concept", search.filtered, "What has a concept", "search", ByConcept),
    GET("/api/search/by-file", search.filtered, "What touched a file", "search", ByFile),
    GET("/api/search/by-type", search.filtered, "Observations of a type", "search", ByType),
    GET("/api/decisions", search.about(search.DECISIONS), "Decisions", "search", KindParameters),
    GET("/api/changes", search.about(search.CHANGES), "Changes", "search", KindParameters),
    GET("/api/how-it-works", search.about(search.HOW_IT_WORKS), "How things work", "search", KindParameters),
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
    POST("/api/v1/mcp/search", v1_mcp.agent_search, "Search as research agents do", "universal", body=McpSearchRequest, answers=McpSearchResponse),
    POST("/api/v1/mcp/fetch", v1_mcp.agent_fetch, "One whole record with its citation", "universal", body=McpFetchRequest, answers=McpFetchResponse, refuses=(404, 409)),
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
    POST("/api/unfollow", jobs.unfollow, "Stop reading a location again", "intake", body=jobs.UnfollowBody, write=True, only="person", refuses=(404,)),
    POST("/api/import", jobs.import_file, "Read a file of this machine", "intake", body=jobs.ImportBody, write=True, only="person", status=ACCEPTED, refuses=(429,)),
    POST("/api/import/upload", jobs.import_upload, "Read the file in the body", "intake", jobs.UploadParameters, body_type=ANY_TYPE, write=True, status=ACCEPTED, refuses=(429,)),
    POST("/api/import/jsonl", jobs.import_lines, "Read the records in the body, one a line", "intake", jobs.UploadedName, body_type=jobs.NDJSON, write=True, status=ACCEPTED, refuses=(429,)),
    GET("/api/export", exports.export_records, "All records, one a line", "intake", exports.ExportParameters, write=True, reply=jobs.NDJSON),
    GET("/api/jobs", jobs.newest, "Jobs, newest first", "intake", jobs.Newest, write=True),
    GET("/api/jobs/{id}", jobs.one, "One job", "intake", write=True),
    POST("/api/jobs/{id}/cancel", jobs.cancel, "Stop a job", "intake", write=True, refuses=(409,)),
    POST("/api/index/audit", jobs.submit("audit"), "Compare the vector index with the store", "intake", write=True, only="person", status=ACCEPTED, refuses=(429,)),
    POST("/api/index/rebuild", jobs.submit("rebuild"), "Fill the vector index anew", "intake", write=True, only="person", status=ACCEPTED, refuses=(429,)),
)
ACCESS = (
    POST("/api/v1/tokens", tokens.create_token, "Make a token", "access", body=tokens.TokenBody, write=True, only="home", status=201, answers=stored.NewToken, refuses=(409,)),
    GET("/api/v1/tokens", tokens.tokens, "The tokens given out", "access", write=True, only="home", answers=stored.GivenTokens),
    DELETE("/api/v1/tokens/{name}", tokens.revoke_token, "Revoke a token", "access", write=True, only="home", answers=stored.RevokedToken),
    GET("/api/v1/users", tokens.users, "Users with a store of their own", "access", write=True, only="home", answers=stored.KnownUsers),
    DELETE("/api/v1/users/{name}", tokens.remove_user, "Remove a user and all that they stored", "access", write=True, only="home", answers=stored.RemovedUser, refuses=(409,)),
)
ABOUT = (
    GET("/health", about.health, "Alive", "about", early=True),
    GET("/api/health", about.api_health, "Who answers here", "about", early=True),
    GET("/api/readiness", about.readiness, "Whether searches are answered", "about", early=True),
    GET("/api/version", about.version, "The version", "about", early=True),
    GET("/api/projects", stats.projects, "Projects", "about", OfPlatform),
    GET("/api/stats", stats.totals, "What is stored and indexed", "about"),
    GET("/api/ledger", stats.ledger, "What became of each item a source saw", "about", stats.LedgerParameters),
    GET("/openapi.json", about.openapi_json, "This API as OpenAPI 3.1", "about", early=True),
    GET("/docs", about.docs, "The operations on one page", "about", early=True, reply="text/html"),
    POST("/mcp", mcp.answer, "MCP, streamable HTTP", "mcp", waits=True, is_rest=False),
    GET("/", about.to_docs, "To the documentation", "about", early=True, status=302, reply=""),
)
CITATIONS = (
    GET("/api/citations", citations.cite, "Cite records, in a style or as a file", "citations", citations.CitationParameters, reply="text/plain", replies=citations.CONTENT_TYPES, refuses=(404,)),
    POST("/api/citations", citations.cite_body, "Cite records, in a style or as a file", "citations", body=citations.CitationsBody, reply="text/plain", replies=citations.CONTENT_TYPES, refuses=(404,)),
    GET("/api/search/export", exports.export_results, "Results of a search as a file", "citations", exports.SearchExportParameters, reply="text/csv", replies=exports.CONTENT_TYPES),
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
