"""The responses of an operation in the OpenAPI document: its reply and every possible error."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from mem_search.http.access.rate_limits import searches
from mem_search.http.core.problems import CONTENT_TYPE
from mem_search.http.core.replies import JSON
from mem_search.http.core.routing import Route

REFS = "#/components/schemas/{model}"
HEADERS = {
    "RequestId": {
        "description": "The id of this request; the one that it sent, if any",
        "required": True,
        "schema": {"type": "string"},
    }
}
_REQUEST_ID = {"$ref": "#/components/headers/RequestId"}
_PROBLEMS = {
    400: "The body is not valid JSON",
    401: "A token is required, or the token is not valid",
    403: "The caller may not do this, or the request comes from a web page of another site",
    404: "No record, job or search has this ref, id or name",
    409: "The state does not allow it: already ended, a chain at its limit, a name or id in use",
    413: "The body is too large",
    415: "The operation does not read this Content-Type",
    421: "The Host header does not name this worker",
    422: "Parameters or fields are not valid; `errors` names each by parameter or JSON pointer",
    429: "A rate limit is reached; `violated-policies` names it",
    500: "A bug; the worker's log has it under `request_id`",
    503: "A part that the reply needs is not available; try again",
}
_ETAG = {
    "description": "Send it as If-None-Match to get 304 while the answer is the same",
    "schema": {"type": "string"},
}
_UNCHANGED = {
    "description": "The answer with the tag in If-None-Match is still the answer",
    "headers": {"X-Request-Id": _REQUEST_ID, "ETag": {**_ETAG, "required": True}},
}
_LED_ON = {
    "description": "A browser that opens the address in a tab is led to the viewer",
    "headers": {
        "X-Request-Id": _REQUEST_ID,
        "Location": {"required": True, "schema": {"type": "string"}},
    },
}
CSL_JSON = "application/vnd.citationstyles.csl+json"
_SECONDS = {"type": "integer", "minimum": 0}
_TOLD_BY = {
    401: ("WWW-Authenticate", {"type": "string"}),
    429: ("Retry-After", _SECONDS),
    503: ("Retry-After", _SECONDS),
}
"""The header that belongs to a status."""


def problems() -> dict[str, Any]:
    """Every error as a response, for operations to refer to."""
    return {f"Problem{status}": _problem(status) for status in _PROBLEMS}


def refusals(route: Route) -> dict[str, Any]:
    """The errors of a route by status; most follow from its other fields."""
    statuses = {403, 421, 422, 500, *route.errors}
    if not route.early or route.path == "/api/readiness":
        statuses.add(503)
    if not route.early:
        statuses.add(401)
    if route.body is not None or route.streams_body:
        statuses |= {400, 413, 415}
    if "{" in route.path:
        statuses.add(404)
    if searches(route.query, route.body) or route.research or route.is_for_agents:
        statuses.add(429)
    led = {"303": _LED_ON} if route.page else {}
    found = led | {str(s): {"$ref": f"#/components/responses/Problem{s}"} for s in sorted(statuses)}
    return {"304": _UNCHANGED, **found} if route.tagged else found


def _problem(status: int) -> dict[str, Any]:
    """An error as problem details (RFC 9457)."""
    problem: dict[str, Any] = {
        "description": _PROBLEMS[status],
        "headers": {"X-Request-Id": _REQUEST_ID},
        "content": {CONTENT_TYPE: {"schema": {"$ref": REFS.format(model="Problem")}}},
    }
    if status in _TOLD_BY:
        name, schema = _TOLD_BY[status]
        problem["headers"][name] = {"required": True, "schema": schema}
    return problem


def reply(route: Route, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The successful response of a route; ``schema`` is that of its JSON."""
    response: dict[str, Any] = {
        "description": HTTPStatus(route.status).phrase,
        "headers": {"X-Request-Id": _REQUEST_ID},
    }
    if route.status in (201, 202, 302) and route.path != "/api/v1/tokens":
        response["headers"]["Location"] = {"required": True, "schema": {"type": "string"}}
    if route.tagged:
        response["headers"]["ETag"] = _ETAG
    if route.successor:
        response["headers"] |= {
            name: {"required": True, "schema": {"type": "string"}}
            for name in ("Deprecation", "Link")
        }
    if route.content_types:
        response["content"] = {
            content_type: _content(content_type, schema) for content_type in route.content_types
        }
    return response


def _content(content_type: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    if content_type == JSON and schema is not None:
        return {"schema": schema}
    if content_type == CSL_JSON:
        return {"schema": {"type": "array", "items": {"type": "object"}}}
    return {"schema": {"type": "string"}}
