"""The JSON Schema of a tool's arguments, as short as it can be said: models pay for each word."""

from __future__ import annotations

from typing import Any

from mem_search.mcp.contract import Arguments


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """The schema of ``model`` without titles, and without saying that what is optional may be null.

    Leaving an argument out is the one way not to give it; null is accepted nevertheless.
    """
    schema = model.model_json_schema()
    properties = {name: _short(each) for name, each in schema["properties"].items()}
    required = {"required": schema["required"]} if "required" in schema else {}
    return {
        "type": "object",
        "properties": properties,
        **required,
        "additionalProperties": False,
    }


def listed(item: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of ``item``."""
    return {"type": "array", "items": item}


def described(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has all of ``properties``."""
    return {"type": "object", "properties": properties, "required": list(properties)}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
STRINGS = {"type": "object", "additionalProperties": STRING}


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    said = {key: value for key, value in schema.items() if key not in ("title", "anyOf")}
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            said = {**choice, **said}
    if said.get("default") in (None, "", []):
        said.pop("default", None)
    return said
