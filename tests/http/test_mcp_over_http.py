"""MCP over HTTP: the SDK's own client in both generations, and bare requests."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import Client, lifecycle_of
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError

from chosen_store import in_a_file
from mcp import Client as McpClient
from mem_search.http.core.app import build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.mcp import ENDPOINT
from mem_search.mcp.endpoint import Endpoint
from mem_search.mcp.server import TOOLS
from mem_search.mcp.tool import output_schema
from mem_search.settings import Settings
from patience import PATIENCE

ERAS = ("legacy", "auto")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
SEARCH = {"name": "search", "arguments": {"query": "auth"}}


def speaking(client: Client, era: str) -> McpClient:
    return McpClient(str(client.make_url("/mcp")), mode=era)


def message(method: str, number: int | None = 1, **params: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return said if number is None else {**said, "id": number}


def modern(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A message of 2026-07-28 and the headers that go with it."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return message(method, **params, _meta=META), headers


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_finds_and_opens_a_record(client: Client, era: str) -> None:
    async with speaking(client, era) as mcp:
        assert mcp.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        assert mcp.server_info.name == "mem-search"
        assert "search" in str(mcp.instructions)
        capabilities = mcp.server_capabilities.model_dump(exclude_none=True)
        assert set(capabilities) == {"tools", "resources"}
        found = await mcp.call_tool("search", {"query": "Added login endpoint"})
        assert not found.is_error
        assert [item.type for item in found.content] == ["text"]
        assert json.loads(found.content[0].text) == found.structured_content
        best = found.structured_content["results"][0]
        fetched = await mcp.call_tool("fetch", {"id": best["id"]})
        assert [item.type for item in fetched.content] == ["text"]
        assert json.loads(fetched.content[0].text) == fetched.structured_content
        assert "checks the password" in fetched.structured_content["text"]
        reply = await client.get(best["url"].removeprefix(str(client.make_url("/"))[:-1]))
        assert reply.status == 200
        assert "checks the password" in await reply.text()


@pytest.mark.parametrize("era", ERAS)
async def test_every_reply_of_a_tool_is_one_json_and_keeps_to_its_schema(
    client: Client, era: str
) -> None:
    arguments: dict[str, list[dict[str, Any]]] = {
        "search": [{"query": "auth"}, {"query": "zebra"}],
        "fetch": [{"id": "observation:2"}],
        "timeline": [{"anchor": "2"}, {"query": "auth", "max_tokens": 200}],
        "get_records": [{"ids": ["observation:2", "note:99"]}],
        "search_local_knowledge": [
            {"query": "auth", "search_type": "hybrid"},
            {"query": "auth", "mode": "deep_research", "max_tokens": 200},
        ],
        "search_local_archives": [{"query": "auth", "include_citations": True}],
        "remember": [{"text": "Tokens expire after an hour."}],
    }
    replies = {tool.name: tool.reply for tool in TOOLS}
    async with speaking(client, era) as mcp:
        for tool in (await mcp.list_tools()).tools:
            # OpenAI's deep research has the object of these two; of others JSON is sent once.
            assert (tool.output_schema is not None) == (tool.name in ("search", "fetch"))
            shape = output_schema(replies[tool.name])
            assert shape["required"]
            for each in arguments.pop(tool.name):
                answer = await mcp.call_tool(tool.name, each)
                if tool.name == "remember" or each.get("mode") == "deep_research":
                    # Both store something, and this client sends no token.
                    assert answer.is_error
                    continue
                assert not answer.is_error, answer.content[0].text
                (item,) = answer.content
                Draft202012Validator(shape).validate(json.loads(item.text))
                is_object = answer.structured_content is not None
                assert is_object == (tool.output_schema is not None)
    assert not arguments


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("auto", -32602)])
async def test_records_are_resources(client: Client, era: str, code: int) -> None:
    async with speaking(client, era) as mcp:
        offered = (await mcp.list_resources()).resources
        assert [each.uri for each in offered] == ["mem://session_summary/1"]
        assert offered[0].title == "Implemented JWT authentication"
        templates = (await mcp.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["mem://{kind}/{id}"]
        read = (await mcp.read_resource("mem://observation/2")).contents[0]
        assert (read.uri, read.mime_type) == ("mem://observation/2", "text/markdown")
        assert "The auth endpoint checks the password." in read.text
        for absent in (
            "mem://observation/999",
            "mem://note/2",
            "mem://star/2",
            "mem://x",
            "file:///a",
        ):
            with pytest.raises(MCPError) as caught:
                await mcp.read_resource(absent)
            assert caught.value.error.code == code
            assert caught.value.error.data == {"uri": absent}


@pytest.mark.parametrize("era", ERAS)
async def test_a_bad_argument_is_the_tools_answer_and_an_unknown_tool_is_not(
    client: Client, era: str
) -> None:
    async with speaking(client, era) as mcp:
        answer = await mcp.call_tool("search", {"query": ""})
        assert answer.is_error
        assert answer.content[0].text.startswith("query: ")
        with pytest.raises(MCPError, match="Unknown tool: serach") as caught:
            await mcp.call_tool("serach", {"query": "auth"})
        assert caught.value.error.code == -32602


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_old_version_is_agreed_on(client: Client, version: str) -> None:
    hello = message(
        "initialize",
        protocolVersion=version,
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    reply = await client.post("/mcp", json=hello)
    assert reply.status == 200
    assert "Mcp-Session-Id" not in reply.headers
    assert (await reply.json())["result"]["protocolVersion"] == version
    noticed = await client.post("/mcp", json=message("notifications/initialized", None))
    assert (noticed.status, await noticed.read()) == (202, b"")
    reply = await client.post(
        "/mcp", json=message("tools/call", **SEARCH), headers={"MCP-Protocol-Version": version}
    )
    assert reply.content_type == "application/json"
    assert not (await reply.json())["result"]["isError"]


async def test_discovery_needs_no_handshake(client: Client) -> None:
    body, headers = modern("server/discover")
    said = (await (await client.post("/mcp", json=body, headers=headers)).json())["result"]
    assert said["supportedVersions"] == ["2026-07-28"]
    assert (said["resultType"], said["cacheScope"]) == ("complete", "public")
    assert said["ttlMs"] > 0


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"MCP-Protocol-Version": "2025-11-25"}, 400, -32020),
        ({"MCP-Protocol-Version": ""}, 400, -32020),
        ({"Mcp-Method": "tools/list"}, 400, -32020),
        ({"Mcp-Name": "fetch"}, 400, -32020),
        ({"Mcp-Name": "=?base64?c2VhcmNo?="}, 200, None),
        ({}, 200, None),
    ],
)
async def test_headers_have_to_say_what_the_body_says(
    client: Client, headers: dict[str, str], status: int, code: int | None
) -> None:
    body, proper = modern("tools/call", **SEARCH)
    reply = await client.post("/mcp", json=body, headers={**proper, **headers})
    said = await reply.json()
    assert (reply.status, said.get("error", {}).get("code")) == (status, code)
    assert said["id"] == 1


async def test_a_message_without_its_version_header_is_not_taken_for_an_old_one(
    client: Client,
) -> None:
    body, _ = modern("tools/list")
    reply = await client.post("/mcp", json=body)
    assert (reply.status, (await reply.json())["error"]["code"]) == (400, -32020)


async def test_an_unknown_version_is_answered_with_the_supported_ones(client: Client) -> None:
    body, headers = modern("tools/list")
    body["params"]["_meta"] = {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    headers["MCP-Protocol-Version"] = "2031-01-01"
    reply = await client.post("/mcp", json=body, headers=headers)
    error = (await reply.json())["error"]
    assert (reply.status, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"null", -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
    ],
)
async def test_a_malformed_message_gets_an_error(client: Client, body: bytes, code: int) -> None:
    reply = await client.post("/mcp", data=body, headers={"Content-Type": "application/json"})
    said = await reply.json()
    assert (reply.status, said["error"]["code"]) == (400, code)
    assert set(said) == {"jsonrpc", "id", "error"}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"name": 5}, -32602),
        ({"name": "search", "arguments": "auth"}, -32602),
        ({"name": "search", "arguments": ["auth"]}, -32602),
    ],
)
async def test_a_malformed_call_gets_an_error(
    client: Client, params: dict[str, Any], code: int
) -> None:
    reply = await client.post("/mcp", json=message("tools/call", **params))
    assert (await reply.json())["error"]["code"] == code


@pytest.mark.parametrize(
    "method", ["prompts/list", "logging/setLevel", "subscriptions/listen", "x"]
)
async def test_what_is_not_offered_is_not_found(client: Client, method: str) -> None:
    body, headers = modern(method)
    headers["Accept"] = "application/json, text/event-stream"
    async with asyncio.timeout(PATIENCE):
        reply = await client.post("/mcp", json=body, headers=headers)
        error = (await reply.json())["error"]
    assert (reply.status in (400, 404), error["code"] in (-32601, -32602)) == (True, True)
    if method in ("prompts/list", "x"):
        assert (reply.status, error["code"]) == (404, -32601)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
async def test_there_is_no_stream_to_open_and_no_session_to_end(
    client: Client, method: str
) -> None:
    async with asyncio.timeout(PATIENCE):
        reply = await client.request(
            method, "/mcp", headers={"Accept": "text/event-stream", "Mcp-Session-Id": "1"}
        )
    assert reply.status == 405
    assert reply.headers["Allow"] == "POST"


async def test_clients_that_drop_connections_leave_the_worker_alive(client: Client) -> None:
    """A transport that streams spins for ever when a reader of its stream goes away."""
    body = json.dumps(message("tools/call", **SEARCH)).encode()
    for head in (
        b"GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: " + str(len(body)).encode()
        + b"\r\n\r\n" + body,
        b"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
        b"Content-Length: 5000\r\n\r\n{",
    ):  # fmt: skip
        host = f"{client.host}:{client.port}".encode()
        for _ in range(3):
            _, writer = await asyncio.open_connection(client.host, client.port)
            writer.write(head.replace(b"%s", host))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
    async with asyncio.timeout(PATIENCE):
        reply = await client.post("/mcp", json=message("tools/call", **SEARCH))
    assert not (await reply.json())["result"]["isError"]


async def test_many_ask_at_the_same_time(client: Client) -> None:
    async def ask(number: int) -> Any:
        body = message("tools/call", number, name="fetch", arguments={"id": "observation:2"})
        return await (await client.post("/mcp", json=body)).json()

    answers = await asyncio.gather(*(ask(number) for number in range(30)))
    assert [answer["id"] for answer in answers] == list(range(30))
    assert len({json.dumps(answer["result"]) for answer in answers}) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Accept": "text/html"}, 406),
    ],
)
async def test_foreign_hosts_and_origins_are_refused(
    client: Client, headers: dict[str, str], status: int
) -> None:
    body = json.dumps(message("ping")).encode()
    proper = {"Content-Type": "application/json"}
    reply = await client.post("/mcp", data=body, headers={**proper, **headers})
    assert reply.status == status


async def test_a_call_waits_while_the_store_is_being_opened(settings: Settings) -> None:
    async with TestClient(TestServer(build_app(settings))) as client:
        reply = await client.post("/mcp", json=message("tools/call", **SEARCH))
        assert (await reply.json())["result"]["structuredContent"] == {"results": []}


@in_a_file("it is overwritten")
async def test_a_store_that_cannot_be_opened_is_reported(settings: Settings) -> None:
    settings.home.mkdir()
    settings.database.write_bytes(b"no database, and long enough to be looked at " * 50)
    async with TestClient(TestServer(build_app(settings))) as client:
        reply = await client.post("/mcp", json=message("tools/call", **SEARCH))
        assert reply.status == 503
        assert "cannot open its store" in (await reply.json())["detail"]


async def test_without_the_sdk_everything_else_still_answers(settings: Settings) -> None:
    app = build_app(settings)
    app[ENDPOINT] = Endpoint("mem_search.mcp.there_is_no_such_module")
    async with TestClient(TestServer(app)) as client:
        await app[LIFECYCLE].ready()
        reply = await client.post("/mcp", json=message("ping"))
        assert reply.status == 503
        assert "MCP cannot be loaded" in (await reply.json())["detail"]
        assert (await client.get("/api/search?query=auth")).status == 200


async def test_the_log_has_no_part_of_a_query(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    before = logging.getLogger().handlers[:]
    with caplog.at_level(logging.INFO):
        for body, headers in (
            modern("tools/call", **SEARCH),
            (message("tools/call", **SEARCH), {}),
        ):
            await client.post("/mcp", json=body, headers=headers)
        await client.post("/mcp", json=message("resources/read", uri="mem://auth/1"))
    assert logging.getLogger().handlers == before
    assert "auth" not in caplog.text


async def test_the_worker_ends_while_a_call_is_under_way(settings: Settings) -> None:
    async with TestClient(TestServer(build_app(settings))) as client:
        await lifecycle_of(client).ready()
        await client.post("/mcp", json=message("ping"))
        asking = asyncio.create_task(client.post("/mcp", json=message("tools/call", **SEARCH)))
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


def test_the_sdk_is_not_loaded_with_the_worker() -> None:
    code = (
        "import sys, mem_search.http.core.app, mem_search.daemon.run;"
        "print([name for name in ('mcp', 'mcp_types', 'starlette') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]"
