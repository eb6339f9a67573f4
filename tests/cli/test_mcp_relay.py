"""The relay between standard input and the worker, with fakes at both ends."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import decode_header_value

from mem_search.cli.mcp_relay import Answer, Relay, WorkerUnreachable, headers_of
from patience import PATIENCE

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
Posted = list[tuple[Any, dict[str, str]]]


def line(method: str, number: int | None = 1, **params: Any) -> bytes:
    said: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(said if number is None else {**said, "id": number}).encode() + b"\n"


def echo(body: bytes, _headers: Mapping[str, str]) -> Answer:
    number = json.loads(body)["id"]
    reply = {"jsonrpc": "2.0", "id": number, "result": {"protocolVersion": "2025-06-18"}}
    return Answer(200, json.dumps(reply, indent=1).encode(), True)


def relayed(post: Callable[[bytes, Mapping[str, str]], Answer], *lines: bytes) -> list[Any]:
    """What is written for ``lines``, one message a line."""
    out = io.BytesIO()
    Relay(post, out).run(lines)
    return [json.loads(each) for each in out.getvalue().splitlines()]


def test_every_request_is_answered_on_one_line() -> None:
    answers = relayed(echo, line("ping", 1), b"\n", b"  \r\n", line("ping", 2))
    assert sorted(answer["id"] for answer in answers) == [1, 2]


def test_notifications_are_not_answered() -> None:
    assert relayed(echo, line("notifications/initialized", None), line("x", None)) == []


def test_requests_are_under_way_side_by_side() -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def post(body: bytes, headers: Mapping[str, str]) -> Answer:
        together.wait()  # none is answered before all have been asked
        return echo(body, headers)

    assert len(relayed(post, *(line("ping", number) for number in range(3)))) == 3


def test_nothing_is_lost_at_the_end_of_the_input() -> None:
    answers = relayed(echo, *(line("ping", number) for number in range(100)))
    assert sorted(answer["id"] for answer in answers) == list(range(100))


def test_a_cancelled_request_is_not_answered() -> None:
    asked, cancelled = threading.Event(), threading.Event()

    def post(body: bytes, headers: Mapping[str, str]) -> Answer:
        if json.loads(body)["id"] == 1:
            asked.set()
            assert cancelled.wait(PATIENCE)
        return echo(body, headers)

    def lines() -> Any:
        yield line("tools/call", 1)
        assert asked.wait(PATIENCE)
        yield line("notifications/cancelled", None, requestId=1)
        yield line("notifications/cancelled", None, requestId="unknown")
        cancelled.set()
        yield line("tools/call", 2)

    out = io.BytesIO()
    Relay(post, out).run(lines())
    assert [json.loads(each)["id"] for each in out.getvalue().splitlines()] == [2]


def test_later_requests_carry_the_version_agreed_on() -> None:
    posted: Posted = []

    def post(body: bytes, headers: Mapping[str, str]) -> Answer:
        posted.append((json.loads(body)["method"], dict(headers)))
        return echo(body, headers)

    relayed(post, line("initialize", 0), line("tools/list", 1), line("initialize", 2))
    said = {"MCP-Protocol-Version": "2025-06-18"}
    assert sorted(posted[1:], key=str) == [("initialize", {}), ("tools/list", said)]
    assert posted[0] == ("initialize", {})


@pytest.mark.parametrize("bad", [b"{\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_the_worker_refuses_what_is_no_message(bad: bytes) -> None:
    def post(body: bytes, headers: Mapping[str, str]) -> Answer:
        assert body == bad.strip()
        assert headers == {}
        return Answer(400, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700}}', True)

    assert relayed(post, bad) == [{"jsonrpc": "2.0", "id": None, "error": {"code": -32700}}]


def test_a_missing_worker_is_an_error_of_the_request() -> None:
    def post(body: bytes, headers: Mapping[str, str]) -> Answer:
        raise WorkerUnreachable("there is no worker: see mem-search doctor")

    answers = relayed(post, line("initialize", 0), line("ping", 1), b"nonsense\n")
    assert sorted(answer["id"] or -1 for answer in answers) == [-1, -1, 1]
    assert {answer["error"]["code"] for answer in answers} == {-32603}
    assert {answer["error"]["message"] for answer in answers} == {
        "there is no worker: see mem-search doctor"
    }


def test_a_problem_of_the_worker_is_an_error_with_its_words() -> None:
    problem = {"detail": "this needs the token", "code": "unauthorized"}
    answers = relayed(
        lambda _body, _headers: Answer(401, json.dumps(problem).encode(), False), line("ping")
    )
    assert answers[0]["error"] == {
        "code": -32603,
        "message": "this needs the token",
        "data": {"code": "unauthorized", "status": 401},
    }


def test_an_unexpected_answer_is_reported_by_its_status() -> None:
    answers = relayed(lambda _body, _headers: Answer(502, b"<html>", False), line("ping"))
    assert answers[0]["error"]["message"] == "the worker answered 502"


def test_a_closed_output_is_no_error() -> None:
    class Gone(io.RawIOBase):
        def write(self, _data: Any) -> int:
            raise BrokenPipeError

    Relay(echo, Gone()).run([line("ping")])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/list", {}, {}),
        ("tools/call", {"name": "search"}, {"Mcp-Name": "search"}),
        ("prompts/get", {"name": "x"}, {"Mcp-Name": "x"}),
        ("resources/read", {"uri": "mem://note/1"}, {"Mcp-Name": "mem://note/1"}),
        ("tools/call", {"name": 5}, {}),
        ("tools/call", {}, {}),
    ],
)
def test_a_message_of_the_new_era_is_described_in_its_headers(
    method: str, params: dict[str, Any], said: dict[str, str]
) -> None:
    message = json.loads(line(method, **params, _meta=META))
    assert headers_of(message, "") == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        **said,
    }


@given(st.text())
def test_a_name_of_any_letters_is_sayable_and_read_back(name: str) -> None:
    message = {"method": "tools/call", "params": {"name": name, "_meta": META}}
    header = headers_of(message, "")["Mcp-Name"]
    assert header.isascii()
    assert header.isprintable()
    assert decode_header_value(header) == name.encode("utf-8", "replace").decode()


JSON = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)
)


@given(JSON | st.fixed_dictionaries({"method": JSON, "params": JSON}), JSON)
def test_headers_of_anything_are_sayable(message: Any, version: Any) -> None:
    if isinstance(message, dict) and isinstance(message.get("params"), dict):
        message["params"]["_meta"] = dict.fromkeys(META, version)
    for text in headers_of(message, "2025-11-25").values():
        assert text.isascii()
        assert text.isprintable()
