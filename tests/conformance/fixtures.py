"""A server with the fixtures that the public conformance suite needs beside the product's own.

Only tools and resources: what the product does not advertise, such as prompts, is not made up
here either. The suite's names and answers are its contract.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from mem_search.mcp import server as product

CONTEXT = product.CONTEXT
manager = product.manager


def _png() -> str:
    """One red pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", pixel), chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _wav() -> str:
    """No sound, two samples of it."""
    samples = b"\x80\x80"
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = b"data" + struct.pack("<I", len(samples)) + samples
    body = b"WAVE" + form + data
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def _resource(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    held = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(resource=held)


_IMAGE = types.ImageContent(data=_png(), mime_type="image/png")
TOOLS: dict[str, Callable[[], types.CallToolResult]] = {
    "test_simple_text": lambda: _said(_text("This is a simple text response for testing.")),
    "test_image_content": lambda: _said(_IMAGE),
    "test_audio_content": lambda: _said(types.AudioContent(data=_wav(), mime_type="audio/wav")),
    "test_embedded_resource": lambda: _said(
        _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": lambda: _said(
        _text("Multiple content types test:"),
        _IMAGE,
        _resource(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    ),
    "test_error_handling": lambda: types.CallToolResult(
        content=[_text("This tool intentionally returns an error for testing")], is_error=True
    ),
    "json_schema_2020_12_tool": lambda: _said(_text("ok")),
    "test_streaming_elicitation": lambda: _said(_text("Nothing is streamed.")),
    "test_logging_tool": lambda: _said(_text("Nothing is logged.")),
    "test_headers": lambda: _said(_text("ok")),
    "test_missing_capability": lambda: _lacking("sampling"),
}
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    "test_headers": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "priority": {"type": "integer", "x-mcp-header": "Priority"},
        },
    },
}
RESOURCES: dict[str, dict[str, str]] = {
    "test://static-text": {
        "mime_type": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mime_type": "image/png", "blob": _png()},
    "test://template/123/data": {
        "mime_type": "application/json",
        "text": '{"id":"123","templateTest":true,"data":"Data for ID: 123"}',
    },
}


def build() -> Server[Any]:
    """The product's own server; its handlers are asked for whatever is no fixture."""
    server = product.build()
    tools = _handler(server, "tools/list")
    calls = _handler(server, "tools/call")
    listing = _handler(server, "resources/list")
    templates = _handler(server, "resources/templates/list")
    reading = _handler(server, "resources/read")

    async def list_tools(context: Any, asked: Any) -> types.ListToolsResult:
        own = await tools(context, asked)
        more = [
            types.Tool(
                name=name, description="Fixture", input_schema=SCHEMAS.get(name, _NO_ARGUMENTS)
            )
            for name in TOOLS
        ]
        return types.ListToolsResult(tools=[*own.tools, *more])

    async def call_tool(context: Any, asked: Any) -> Any:
        fixture = TOOLS.get(asked.name)
        return fixture() if fixture else await calls(context, asked)

    async def list_resources(context: Any, asked: Any) -> types.ListResourcesResult:
        own = await listing(context, asked)
        more = [
            types.Resource(uri=uri, name=uri, description="Fixture", mime_type=said["mime_type"])
            for uri, said in RESOURCES.items()
            if "static" in uri
        ]
        return types.ListResourcesResult(resources=[*own.resources, *more])

    async def list_templates(context: Any, asked: Any) -> types.ListResourceTemplatesResult:
        own = await templates(context, asked)
        more = types.ResourceTemplate(
            uri_template="test://template/{id}/data", name="template", description="Fixture"
        )
        return types.ListResourceTemplatesResult(resource_templates=[*own.resource_templates, more])

    async def read_resource(context: Any, asked: Any) -> Any:
        said = RESOURCES.get(asked.uri)
        if said is None:
            return await reading(context, asked)
        kind = types.BlobResourceContents if "blob" in said else types.TextResourceContents
        return types.ReadResourceResult(contents=[kind(uri=asked.uri, **said)])

    page = types.PaginatedRequestParams
    server.add_request_handler("tools/list", page, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("resources/list", page, list_resources)
    server.add_request_handler("resources/templates/list", page, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    own = server.get_tool_input_schema
    assert own is not None
    server.get_tool_input_schema = lambda name: SCHEMAS.get(name) or own(name)
    return server


def _handler(server: Server[Any], method: str) -> Callable[[Any, Any], Any]:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


def _said(*content: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def _lacking(capability: str) -> types.CallToolResult:
    needed = {"requiredCapabilities": {capability: {}}}
    raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"needs {capability}", data=needed)
