"""OpenAPI 3.1 of the worker, generated from the map of routes and its models.

``python -m mem_search.http.openapi`` prints it; docs/openapi.json is that output.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any, get_origin

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import mem_search
from mem_search.http.core.parameter_types import REF_PATTERN
from mem_search.http.core.parsing import spellings
from mem_search.http.core.problems import Problem
from mem_search.http.core.routing import ANY_TYPE, Route
from mem_search.http.openapi import responses
from mem_search.http.openapi.responses import REFS

_IN_PATH = re.compile(r"{(\w+)}")
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "number": {"type": "integer", "minimum": 0},
    "ref": {"type": "string", "pattern": REF_PATTERN, "examples": ["observation:42"]},
    "id": {"type": "string"},
    "name": {"type": "string"},
}
_LINE = '{"kind": "note", "source_id": "1", "title": "Limits", "text": "By token bucket."}\n'


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The document as plain values."""
    named = (model for route in routes for model in (route.body, route.answers))
    models: set[type[BaseModel]] = {Problem, *(model for model in named if model)}
    in_order = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema(
        [(model, "validation") for model in in_order], ref_template=REFS
    )
    components = schemas.get("$defs", {})
    for schema in components.values():
        for name, field in schema.get("properties", {}).items():
            schema["properties"][name] = _as_sent(field)
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
            "schemas": components,
            "headers": responses.HEADERS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": responses.problems(),
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {
            str(route.status): responses.reply(route),
            **responses.refusals(route),
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
        schema = {"$ref": REFS.format(model=route.body.__name__)}
        required = any(field.is_required() for field in route.body.model_fields.values())
        said["requestBody"] = {
            "required": required,
            "content": {route.body_type: {"schema": schema}},
        }
    elif route.reads_itself:
        body: dict[str, Any] = {"description": "One JSON object a line", "examples": [_LINE]}
        if route.body_type == ANY_TYPE:
            body = {"description": "A file; its own Content-Type is better", "format": "binary"}
            body["type"] = "string"
        said["requestBody"] = {"required": True, "content": {route.body_type: {"schema": body}}}
    return said


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
            for key, value in _as_sent(properties[proper]).items()
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


def _as_sent(schema: dict[str, Any]) -> dict[str, Any]:
    """Without a default that is what we make of nothing and not what could be sent."""
    odd = schema.get("type") == "string" and not isinstance(schema.get("default", ""), str)
    return {key: value for key, value in schema.items() if key != "default" or not odd}


def _many(schema: dict[str, Any]) -> dict[str, Any]:
    """Comma-separated values: a list to OpenAPI, whatever the validator reads it from."""
    least = {"minItems": 1} if "minItems" in schema else {}
    return {"type": "array", "items": {"type": "string"}, **least}


def main() -> None:
    from mem_search.http.routes import ROUTES  # the map names a handler that needs this module

    sys.stdout.write(json.dumps(describe(ROUTES), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
