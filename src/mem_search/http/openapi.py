"""OpenAPI 3.1 of the worker, generated from the map of routes and its models.

``python -m mem_search.http.openapi`` prints it; docs/openapi.json is that output.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, get_origin

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import mem_search
from mem_search.http.limits import searches
from mem_search.http.problems import CONTENT_TYPE, Problem
from mem_search.http.reading import spellings
from mem_search.http.routing import Route
from mem_search.http.values import REF_PATTERN

_REFS = "#/components/schemas/{model}"
_IN_PATH = re.compile(r"{(\w+)}")
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "number": {"type": "integer", "minimum": 0},
    "ref": {"type": "string", "pattern": REF_PATTERN, "examples": ["observation:42"]},
    "id": {"type": "string"},
    "name": {"type": "string"},
}
_PROBLEMS = {
    400: "The body is not the JSON that it claims to be",
    401: "A token is needed, or the one given is not valid",
    403: "Whoever asks may not do this, or asks from a foreign page",
    404: "Nothing has that ref, id or name",
    409: "The state of things forbids it now: ended already, a chain at its limit, a name taken",
    413: "The body is too large",
    415: "The body has another Content-Type than this operation reads",
    421: "The Host header names somebody else",
    422: "Something given cannot be used; errors names each by parameter or JSON pointer",
    429: "A limit is reached; violated-policies names it",
    500: "A bug; the worker's log has it under request_id",
    503: "A part that the answer needs is away; try again",
}
_LINE = '{"kind": "note", "source_id": "1", "title": "Limits", "text": "By token bucket."}\n'
_SECONDS = {"type": "integer", "minimum": 0}
_TOLD_BY = {
    401: ("WWW-Authenticate", {"type": "string"}),
    429: ("Retry-After", _SECONDS),
    503: ("Retry-After", _SECONDS),
}
"""The header that says more, by status."""
_LISTED_AS_TEXT = ("search", "timeline")


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The document as plain values."""
    named = (model for route in routes for model in (route.body, route.answers))
    models: set[type[BaseModel]] = {Problem, *(model for model in named if model)}
    in_order = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema(
        [(model, "validation") for model in in_order], ref_template=_REFS
    )
    paths: dict[str, dict[str, Any]] = {}
    for route in filter(lambda route: route.is_rest, routes):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mem-search",
            "version": mem_search.__version__,
            "description": "One local worker that finds anything a coding agent has seen.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.get("$defs", {}),
            "headers": {
                "RequestId": {
                    "description": "Of this request; its own when it sent one",
                    "required": True,
                    "schema": {"type": "string"},
                }
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {f"Problem{status}": _problem(status) for status in _PROBLEMS},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {
            str(route.status): _reply(route),
            **{
                str(status): {"$ref": f"#/components/responses/Problem{status}"}
                for status in _refusals(route)
            },
        },
    }
    if parameters := [*_in_path(route), *_in_query(route.query)]:
        said["parameters"] = parameters
    if route.write:
        said["security"] = [{"token": []}]
    if route.successor:
        said["deprecated"] = True
        said["description"] = f"Use {route.successor} instead."
    if route.body is not None:
        schema = {"$ref": _REFS.format(model=route.body.__name__)}
        required = any(field.is_required() for field in route.body.model_fields.values())
        said["requestBody"] = {
            "required": required,
            "content": {route.body_type: {"schema": schema}},
        }
    elif route.reads_itself:
        schema = {"description": "One JSON object a line", "examples": [_LINE]}
        said["requestBody"] = {"required": True, "content": {route.body_type: {"schema": schema}}}
    return said


def _refusals(route: Route) -> list[int]:
    """The statuses of what the route may answer instead, as they follow from what it is."""
    statuses = {403, 421, 422, 500, *route.refuses}
    if not route.early or route.path == "/api/readiness":
        statuses.add(503)
    if not route.early:
        statuses.add(401)
    if route.body is not None or route.reads_itself:
        statuses |= {400, 413, 415}
    if "{" in route.path:
        statuses.add(404)
    if searches(route.query, route.body) or route.research or route.is_agents:
        statuses.add(429)
    return sorted(statuses)


def _problem(status: int) -> dict[str, Any]:
    """An error as problem details (RFC 9457)."""
    problem: dict[str, Any] = {
        "description": _PROBLEMS[status],
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
        "content": {CONTENT_TYPE: {"schema": {"$ref": _REFS.format(model="Problem")}}},
    }
    if status in _TOLD_BY:
        name, schema = _TOLD_BY[status]
        problem["headers"][name] = {"required": True, "schema": schema}
    return problem


def _reply(route: Route) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "description": HTTPStatus(route.status).phrase,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
    }
    if route.status in (201, 202, 302) and route.path != "/api/v1/tokens":
        reply["headers"]["Location"] = {"required": True, "schema": {"type": "string"}}
    if route.successor:
        reply["headers"] |= {
            name: {"required": True, "schema": {"type": "string"}}
            for name in ("Deprecation", "Link")
        }
    if route.reply:
        reply["content"] = {content_type: {} for content_type in (route.reply, *route.replies)}
        if route.answers is not None:
            schema = {"$ref": _REFS.format(model=route.answers.__name__)}
            reply["content"][route.reply] = {"schema": schema}
        if route.tag in _LISTED_AS_TEXT:
            reply["content"]["text/plain"] = {"schema": {"type": "string"}}
    return reply


def _operation_id(route: Route) -> str:
    return "_".join((route.method.lower(), *re.findall(r"\w+", route.path))) or "get"


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}
        for name in _IN_PATH.findall(route.path)
    ]


def _in_query(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    properties = model.model_json_schema(by_alias=True).get("properties", {})
    said = []
    for name, field in model.model_fields.items():
        proper, *others = spellings(name, field)
        schema = {
            key: value
            for key, value in properties[proper].items()
            if key not in ("title", "description", "spellings")
        }
        parameter: dict[str, Any] = {
            "name": proper,
            "in": "query",
            "required": field.is_required(),
            "description": (field.description or "")
            + (f". Also spelled {', '.join(others)}" if others else ""),
            "schema": _many(schema) if get_origin(field.annotation) is tuple else schema,
        }
        if get_origin(field.annotation) is tuple:
            parameter |= {"style": "form", "explode": False}
        said.append(parameter)
    return said


def _many(schema: dict[str, Any]) -> dict[str, Any]:
    """Comma-separated values: a list to OpenAPI, whatever the validator reads it from."""
    least = {"minItems": 1} if "minItems" in schema else {}
    return {"type": "array", "items": {"type": "string"}, **least}


def main() -> None:
    from mem_search.http.routes import ROUTES  # the map names a handler that needs this module

    sys.stdout.write(json.dumps(describe(ROUTES), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
