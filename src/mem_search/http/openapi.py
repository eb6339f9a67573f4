"""OpenAPI 3.1 of the worker, generated from the map of routes and its models, with every error.

``python -m mem_search.http.openapi`` prints it; docs/openapi.json is that output. ``page`` shows it
as plain HTML, with nothing from outside.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

import mem_search
from mem_search.http.access.authentication import searches
from mem_search.http.core.parameter_types import REF_PATTERN
from mem_search.http.core.parameters import spellings
from mem_search.http.core.problems import CONTENT_TYPE, Problem
from mem_search.http.core.reading import is_list, takes_text
from mem_search.http.core.replies import JSON, html_page, style_policy
from mem_search.http.core.routing import ANY_TYPE, Route
from mem_search.patterns import pattern
from mem_search.renderers.schema import adapter

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1f2328; background: #fff }
h2 { margin-top: 2.5rem; text-transform: capitalize }
details { border: 1px solid #d0d7de; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer }
code { font-family: ui-monospace, monospace }
.method { display: inline-block; width: 4.5rem; font-weight: 600 }
.note { color: #59636e }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 }
td { border-top: 1px solid #d0d7de; padding: .25rem .5rem; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  details, td { border-color: #3d444d }
  .note { color: #9198a1 }
}
"""
POLICY = style_policy(_STYLE)

_IN_PATH = pattern(r"{(\w+)}")
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "number": {"type": "integer", "minimum": 0},
    "ref": {"type": "string", "pattern": REF_PATTERN, "examples": ["observation:42"]},
    "id": {"type": "string"},
    "name": {"type": "string"},
}
_LINE = '{"kind": "note", "source_id": "1", "title": "Limits", "text": "By token bucket."}\n'


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The document as plain values."""
    rest = [route for route in routes if route.is_rest]
    responses_by_route, components = _schemas(rest)
    for schema in components.values():
        for name, field in schema.get("properties", {}).items():
            schema["properties"][name] = _as_sent(field)
    paths: dict[str, dict[str, Any]] = {}
    for route in rest:
        response = responses_by_route.get((route.method, route.path))
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, response)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mem-search",
            "version": mem_search.__version__,
            "description": "Searches everything that a coding agent, or its user, has seen.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "headers": HEADERS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": problems(),
        },
    }


def written(routes: Sequence[Route]) -> str:
    """The document as docs/openapi.json has it."""
    return json.dumps(describe(routes), indent=2, ensure_ascii=False) + "\n"


def _schemas(
    routes: Sequence[Route],
) -> tuple[dict[tuple[str, str], dict[str, Any]], dict[str, Any]]:
    """The schema of each route's response by (method, path), and what schemas refer to by name."""
    for route in routes:
        if route.response is None and JSON in route.content_types:
            raise TypeError(f"{route.method} {route.path} answers JSON: name its response")
    bodies = {route.body for route in routes if route.body is not None}
    inputs: list[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]] = [
        *((body.__name__, "validation", TypeAdapter(body)) for body in bodies),
        ("problem", "serialization", adapter(Problem)),
        *(
            ((route.method, route.path), "serialization", adapter(route.response))
            for route in routes
            if route.response is not None
        ),
    ]
    by_key, definitions = TypeAdapter.json_schemas(inputs, ref_template=REFS)
    components = dict(sorted(definitions.get("$defs", {}).items()))
    responses = {key: schema for (key, _), schema in by_key.items() if isinstance(key, tuple)}
    return responses, components


def _operation(route: Route, response: dict[str, Any] | None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {
            str(route.status): reply(route, response),
            **error_responses(route),
        },
    }
    if parameters := [*_in_path(route), *_in_query(route.query)]:
        operation["parameters"] = parameters
    if route.write:
        operation["security"] = [{"token": []}, {}] if route.capture else [{"token": []}]
    if route.successor:
        operation["deprecated"] = True
        operation["description"] = f"Use {route.successor} instead."
    if route.body is not None:
        schema = {"$ref": REFS.format(model=route.body.__name__)}
        required = any(field.is_required() for field in route.body.model_fields.values())
        operation["requestBody"] = {
            "required": required,
            "content": {route.body_type: {"schema": schema}},
        }
    elif route.streams_body:
        body: dict[str, Any] = {"description": "One JSON object a line", "examples": [_LINE]}
        if route.body_type == ANY_TYPE:
            body = {"description": "A file; its own Content-Type is better", "format": "binary"}
            body["type"] = "string"
        if route.form is not None:
            body = _form(route.form)
        operation["requestBody"] = {
            "required": True,
            "content": {route.body_type: {"schema": body}},
        }
    return operation


def _form(model: type[BaseModel]) -> dict[str, Any]:
    """A form with a file, and the fields of ``model``."""
    properties = {
        name: {key: value for key, value in _as_sent(field).items() if key != "title"}
        for name, field in model.model_json_schema()["properties"].items()
    }
    for name, field in properties.items():  # all fields of a form are text
        field.pop("default", None)
        if not takes_text(model.model_fields[name]):
            either = [field, {"enum": ["", None]}]
            if field.get("type") == "boolean":  # digits are read as false and true
                either.append({"type": "integer", "enum": [0, 1]})
            properties[name] = {"anyOf": either}
    file = {"type": "string", "format": "binary", "description": "The document"}
    return {
        "type": "object",
        "properties": {"file": file, **properties},
        "required": ["file"],
        "additionalProperties": False,
    }


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
    parameters = []
    for name, field in model.model_fields.items():
        proper, *others = spellings(name, field)
        schema = {
            key: value
            for key, value in _as_sent(properties[proper]).items()
            if key not in ("title", "description", "spellings")
        }
        if not field.is_required() and not takes_text(field):
            default = {"default": schema.pop("default")} if "default" in schema else {}
            schema = {"anyOf": [schema, {"enum": ["", None]}], **default}
        parameter: dict[str, Any] = {
            "name": proper,
            "in": "query",
            "required": field.is_required(),
            "description": (field.description or "")
            + (f". Also spelled {', '.join(others)}" if others else ""),
            "schema": _many(schema) if is_list(field.annotation) else schema,
        }
        if is_list(field.annotation):
            parameter |= {"style": "form", "explode": False}
        parameters.append(parameter)
    return parameters


def _as_sent(schema: dict[str, Any]) -> dict[str, Any]:
    """Without a default that is what we make of nothing and not what could be sent."""
    odd = schema.get("type") == "string" and not isinstance(schema.get("default", ""), str)
    return {key: value for key, value in schema.items() if key != "default" or not odd}


def _many(schema: dict[str, Any]) -> dict[str, Any]:
    """Comma-separated values: a list to OpenAPI, whatever the validator reads it from."""
    least = {"minItems": 1} if "minItems" in schema else {}
    return {"type": "array", "items": {"type": "string"}, **least}


def page(described: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    groups: dict[str, list[str]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(
                _operation_in_html(method.upper(), path, operation)
            )
    info = described["info"]
    body = "".join(f"<h2>{escape(tag)}</h2>\n{''.join(items)}" for tag, items in groups.items())
    top = (
        f"<h1>mem-search API <small>{escape(info['version'])}</small></h1>\n"
        f"<p>{escape(info['description'])} Machines read"
        ' <a href="/openapi.json">/openapi.json</a>; agents read'
        ' <a href="/api/search/help">/api/search/help</a>.</p>\n'
    )
    return html_page("mem-search API", _STYLE, top + body)


def _operation_in_html(method: str, path: str, operation: dict[str, Any]) -> str:
    notes = [
        *(["needs the token"] if "security" in operation else []),
        *(["deprecated"] if operation.get("deprecated") else []),
    ]
    noted = f' <span class="note">{", ".join(notes)}</span>' if notes else ""
    rows = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    body = "".join(
        f"<p>Body: <code>{escape(kind)}</code></p>"
        for kind in operation.get("requestBody", {}).get("content", ())
    )
    answers = " · ".join(escape(status) for status in operation["responses"])
    inside = (f"<table>{rows}</table>" if rows else "") + body or "<p>No parameters.</p>"
    inside += f'<p class="note">Answers {answers}</p>'
    return (
        f'<details><summary><span class="method">{method}</span><code>{escape(path)}</code>'
        f" {escape(operation['summary'])}{noted}</summary>{inside}</details>\n"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    default = schema.get("default")
    shown = f"default {default}" if default not in (None, "", []) else ""
    needed = "required" if parameter["required"] else shown
    known = schema.get("anyOf", [schema])[0]
    choices = ", ".join(str(item) for item in known.get("enum", ()))
    described = "; ".join(part for part in (parameter.get("description", ""), choices) if part)
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td>"
        f'<td class="note">{escape(needed)}</td><td>{escape(described)}</td></tr>'
    )


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


def error_responses(route: Route) -> dict[str, Any]:
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
    errors = {"303": _LED_ON} if route.page else {}
    errors |= {str(s): {"$ref": f"#/components/responses/Problem{s}"} for s in sorted(statuses)}
    return {"304": _UNCHANGED, **errors} if route.tagged else errors


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


if __name__ == "__main__":
    from mem_search.http.routes import ROUTES

    sys.stdout.write(written(ROUTES))
