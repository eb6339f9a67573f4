"""The part of the URL map that remembers: jobs, research, saved searches, scopes, webhooks."""

# ruff: noqa: E501 - a route is a row of a table
from __future__ import annotations

from functools import partial

from mem_search.http.routing import Route
from mem_search.http.v1 import jobs, research, saved, scopes, webhooks
from mem_search.http.v1 import kept_shapes as shapes
from mem_search.http.v1.lists import (
    ExportParameters,
    JobsListing,
    Listing,
    NotificationsListing,
    OperationsListing,
    ReplayParameters,
    SessionReplayParameters,
)
from mem_search.http.v1.saved import SavedSearchBody, SavedSearchPlan
from mem_search.http.v1.scopes import ScopeBody

GET, POST, PUT, DELETE = (partial(Route, method) for method in ("GET", "POST", "PUT", "DELETE"))
CREATED = 201

# fmt: off
REMEMBERED = (
    GET("/api/v1/search/jobs", jobs.newest, "Searches in the background", "research", JobsListing, answers=shapes.SearchJobs),
    GET("/api/v1/search/jobs/{id}", jobs.one, "One search in the background, with its result", "research", answers=shapes.SearchJobResult),
    POST("/api/v1/search/jobs/{id}/cancel", jobs.cancel, "End a search in the background", "research", write=True, answers=shapes.SearchJobResult, refuses=(409,)),
    DELETE("/api/v1/search/jobs/{id}", jobs.delete, "End a search in the background, or forget it", "research", write=True, answers=shapes.EndedOrDeleted, refuses=(409,)),
    GET("/api/v1/search/operations", research.listed, "Steps of research, newest first", "research", OperationsListing, answers=shapes.ResearchSteps),
    GET("/api/v1/search/operations/{id}", research.one, "One step of research, whole", "research", answers=shapes.WholeStep),
    POST("/api/v1/search/operations/{id}/replay", research.replay, "Do a step again and tell what differs", "research", ReplayParameters, research=True, answers=shapes.Replayed, refuses=(409,)),
    GET("/api/v1/search/sessions", research.sessions, "Research sessions, last active first", "research", Listing, answers=shapes.ResearchSessions),
    GET("/api/v1/search/sessions/{id}", research.session, "A research session as trees", "research", answers=shapes.SessionTree),
    POST("/api/v1/search/sessions/{id}/replay", research.replay_session, "Do all steps of a session again", "research", SessionReplayParameters, answers=shapes.ReplayedSession, refuses=(429,)),
    GET("/api/v1/search/sessions/{id}/export", research.export, "A session with its citations", "research", ExportParameters, replies=("text/markdown",), answers=shapes.ExportedSession),
    DELETE("/api/v1/search/sessions/{id}", research.forget, "Forget a research session", "research", write=True, answers=shapes.Deleted),
    GET("/api/v1/saved-searches", saved.listed, "Saved searches", "saved", answers=shapes.SavedSearches),
    POST("/api/v1/saved-searches", saved.create, "Save a search", "saved", body=SavedSearchBody, write=True, status=CREATED, answers=shapes.SavedSearch, refuses=(409,)),
    GET("/api/v1/saved-searches/{name}", saved.one, "One saved search", "saved", answers=shapes.SavedSearch),
    PUT("/api/v1/saved-searches/{name}", saved.change, "Change a saved search", "saved", body=SavedSearchPlan, write=True, answers=shapes.SavedSearch),
    DELETE("/api/v1/saved-searches/{name}", saved.remove, "Forget a saved search", "saved", write=True, answers=shapes.Deleted),
    POST("/api/v1/saved-searches/{name}/run", saved.run, "Run a saved search now", "saved", write=True, answers=shapes.SavedSearchRun, refuses=(429,)),
    GET("/api/v1/notifications", saved.inbox, "What saved searches have told", "saved", NotificationsListing, answers=shapes.Notifications),
    POST("/api/v1/notifications/{number}/read", saved.read, "Mark a notification as read", "saved", write=True, answers=shapes.Notification),
    DELETE("/api/v1/notifications/{number}", saved.dismiss, "Delete a notification", "saved", write=True, answers=shapes.Deleted),
    GET("/api/v1/scopes", scopes.listed, "Scopes: filters with a name", "saved", answers=shapes.Scopes),
    GET("/api/v1/scopes/{name}", scopes.one, "One scope", "saved", answers=shapes.Scope),
    PUT("/api/v1/scopes/{name}", scopes.put, "Keep a scope", "saved", body=ScopeBody, write=True, answers=shapes.Scope),
    DELETE("/api/v1/scopes/{name}", scopes.remove, "Delete a scope", "saved", write=True, answers=shapes.Deleted),
    GET("/api/v1/webhooks/secret", webhooks.secret, "The secret that webhooks are signed with", "saved", write=True, answers=shapes.WebhookSecret),
)
# fmt: on
