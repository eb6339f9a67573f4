"""The tool descriptions that a model reads first, and their cost in tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mem_search.mcp.server import INSTRUCTIONS, TOOLS, build
from mem_search.mcp.tool import Tool, input_schema, output_schema
from mem_search.records.registry import installed_kinds
from mem_search.text import token_count


def schema(name: str) -> dict[str, Any]:
    return next(input_schema(tool.arguments) for tool in TOOLS if tool.name == name)


async def listed() -> list[dict[str, Any]]:
    """``tools/list`` as it goes over the wire."""
    entry = build().get_request_handler("tools/list")
    assert entry is not None
    result = (await entry.handler(None, None)).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    return list(result["tools"])


def keys(schema: Any) -> set[str]:
    """The keywords of a schema and of the schemas in it, without the names of fields."""
    if isinstance(schema, list):
        return set().union(*map(keys, schema))
    if not isinstance(schema, dict):
        return set()
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    return set(schema).union(*map(keys, inner))


def test_there_are_at_most_seven_tools_each_with_a_name_of_its_own() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS) <= 7


async def test_the_whole_list_costs_less_than_five_thousand_tokens() -> None:
    assert token_count.count(json.dumps({"tools": await listed()})) < 5000
    assert token_count.count(INSTRUCTIONS) < 250


async def test_every_tool_says_whether_it_only_reads() -> None:
    reads = {"readOnlyHint": True, "openWorldHint": False}
    adds = {**reads, "readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
    for tool in await listed():
        assert tool["annotations"] == (adds if tool["name"] == "remember" else reads)
        assert tool["title"]
        assert tool["description"].endswith(".")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_valid_and_closed(tool: Tool) -> None:
    taken = input_schema(tool.arguments)
    Draft202012Validator.check_schema(taken)
    returned = output_schema(tool.reply)
    Draft202012Validator.check_schema(returned)
    assert not {"$ref", "anyOf", "title"} & keys(returned)
    assert taken["additionalProperties"] is False
    assert returned["type"] == "object"
    for said in taken["properties"].values():
        assert "type" in said  # no null and no choice of types: one way to write a value
        assert "title" not in said


def test_search_and_fetch_need_one_text_as_deep_research_expects() -> None:
    for name, argument in (("search", "query"), ("fetch", "id")):
        taken = schema(name)
        assert taken["required"] == [argument]
        assert taken["properties"][argument]["type"] == "string"


def test_local_knowledge_has_the_input_schema_of_the_contract() -> None:
    taken = schema("search_local_knowledge")
    assert taken["required"] == ["query"]
    said = {
        name: {key: each[key] for key in ("type", "format", "enum", "default") if key in each}
        for name, each in taken["properties"].items()
    }
    text = {"type": "string"}
    moment = {"type": "string", "format": "date-time"}
    assert said == {
        "query": text,
        "content_types": {"type": "array"},
        "search_type": {
            "type": "string",
            "enum": ["keyword", "semantic", "hybrid"],
            "default": "keyword",
        },
        "mode": {"type": "string", "enum": ["basic", "deep_research"], "default": "basic"},
        "limit": {"type": "integer", "default": 20},
        "created_after": moment,
        "updated_after": moment,
        "folder": text,
        "domain": text,
        "where": {"type": "object"},
        "full_content": {"type": "boolean", "default": True},
        "session_id": text,
        "parent_operation_id": text,
        "max_tokens": {"type": "integer", "default": 8000},
    }
    assert taken["properties"]["content_types"]["items"]["enum"] == list(installed_kinds().names)
