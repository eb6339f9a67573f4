"""Whether replies are what the OpenAPI document says of them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from aiohttp import web
from jsonschema import Draft202012Validator

from mem_search.features.claude_mem.clients import CLIENTS
from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from mem_search.renderers.schema import adapter

_FOR_CLIENTS = {route.path for route in ROUTES if route.for_clients}
JSON_TYPES = ("application/json", "application/problem+json")


@cache
def document() -> dict[str, Any]:
    return describe(ROUTES)


@cache
def _validator(method: str, path: str, status: int, content_type: str) -> Draft202012Validator:
    whole = document()
    response = whole["paths"][path][method]["responses"][str(status)]
    if "$ref" in response:
        response = whole["components"]["responses"][response["$ref"].rpartition("/")[2]]
    schema = response["content"][content_type]["schema"]
    return Draft202012Validator({**schema, "components": whole["components"]})


def faults(method: str, path: str, status: int, content_type: str, value: Any) -> list[str]:
    """What of a reply is other than the document says; a reply that it does not name is a fault."""
    try:
        validator = _validator(method.lower(), path, status, content_type)
    except KeyError as error:
        return [f"{method} {path}: {status} {content_type} is not described ({error})"]
    return [f"{method} {path}: {fault.message[:300]}" for fault in validator.iter_errors(value)]


def matches(kind: Any, value: Any) -> bool:
    """Whether ``value`` is the JSON of a schema."""
    schema = adapter(kind).json_schema(mode="serialization")
    Draft202012Validator(schema).validate(value)
    return True


class Watcher:
    """Looks at every JSON reply of an app, beside whatever else a test looks at."""

    def __init__(self, app: web.Application) -> None:
        self.faults: list[str] = []
        app.on_response_prepare.append(self._look)

    async def _look(self, request: web.Request, response: web.StreamResponse) -> None:
        resource = request.match_info.route.resource
        path = resource.canonical if resource is not None else ""
        body = response.body if isinstance(response, web.Response) else None
        if path in _FOR_CLIENTS and CLIENTS.is_one(request):
            return  # a route of claude-mem's, which the document does not have
        if (
            path in document()["paths"]
            and request.method.lower() in document()["paths"][path]
            and isinstance(body, bytes)
            and response.content_type in JSON_TYPES
        ):
            self.faults += faults(
                request.method, path, response.status, response.content_type, json.loads(body)
            )
