"""The API of a model, as far as an agent needs it: answers from a script, and keeps what it got.

It speaks the forms of Anthropic's messages, of OpenAI's chat completions and responses, and of
Gemini's ``generateContent``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from local_server import Handler, Server, running

Step = tuple[str, dict[str, Any] | str]
"""The end of a tool's name, and its arguments; a text for a tool of OpenAI that takes a text."""

Reply = tuple[list[tuple[str, dict[str, Any]]], dict[str, Any]]
"""The events of a streamed answer with their names, and the same answer in one piece."""


class ModelApi(Server):
    """After each prompt the tools of ``steps`` are called, then the answer is ``last``.

    ``thinks`` is called before each answer to an agent that has tools, with the number of results
    that are there: a real model takes longer than this one.
    """

    daemon_threads = True

    def __init__(self, steps: Sequence[Step], last: str) -> None:
        super().__init__(_Answering)
        self.steps, self.last = steps, last
        self.thinks: Callable[[int], object] = lambda _: None
        self.requests: list[dict[str, Any]] = []


@contextmanager
def model_api(steps: Sequence[Step], last: str) -> Iterator[ModelApi]:
    """A running one."""
    with running(api := ModelApi(steps, last)):
        yield api


def results_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What tools answered so far."""
    messages = request.get("messages") or request.get("contents") or request.get("input") or []
    found = []
    for message in messages:
        content = message.get("content") or message.get("parts")
        blocks = [message, *(content if isinstance(content, list) else [])]
        found += [block for block in blocks if _is_result(block)]
    return found


def _is_result(block: dict[str, Any]) -> bool:
    answers = ("tool_result", "function_call_output", "custom_tool_call_output")
    is_answer = block.get("type") in answers or block.get("role") == "tool"
    return is_answer or "functionResponse" in block


def tools_in(request: dict[str, Any]) -> list[str]:
    """The names of the tools that the model may call."""
    names = []
    for tool in request.get("tools") or []:
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        names += [str(each["name"]) for each in declared if each.get("name")]
    return names


class _Answering(Handler):
    server: ModelApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        model = {"id": "stub", "object": "model", "name": "stub"}
        self._say(json.dumps({"object": "list", "data": [model], "models": [model]}).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = json.loads(raw or b"{}")
        if "count_tokens" in self.path or "countTokens" in self.path:
            self._say(b'{"input_tokens": 10, "totalTokens": 10}')
            return
        self.server.requests.append(request)
        names, done = tools_in(request), len(results_in(request))
        step, steps = None, self.server.steps if names else ()
        if names:
            self.server.thinks(done)
        if done < len(steps):
            end, arguments = steps[done]
            exact = end if end in names else ""  # "write", and not "todowrite"
            name = exact or next((name for name in names if name.endswith(end)), end)
            step = (f"call_{done}", name, arguments)
        path = self.path.partition("?")[0]
        if path.endswith("/responses"):
            make = _responses
        elif path.endswith("/chat/completions"):
            make = _completions
        else:
            make = _gemini if "enerateContent" in path else _messages
        events, whole = make(step, self.server.last)
        if request.get("stream") or path.endswith(":streamGenerateContent"):
            lines = (
                (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
                for name, data in events
            )
            ended = "data: [DONE]\n\n" if make is _completions else ""
            self._say(("".join(lines) + ended).encode(), "text/event-stream")
        else:
            self._say(json.dumps(whole).encode())

    def _say(self, body: bytes, content_type: str = "application/json") -> None:
        self.reply(body, Content_Type=content_type)


Called = tuple[str, str, dict[str, Any] | str] | None
"""The id of a call, the whole name of its tool, and its arguments."""


def _messages(call: Called, last: str) -> Reply:
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": last}
    if call:
        block = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[2])}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    stop = {"stop_reason": "tool_use" if call else "end_turn"}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": stop, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]
    whole = {**message, **stop, "content": [{"type": "text", "text": last}]}
    return [(name, {"type": name, **data}) for name, data in events], whole


def _completions(call: Called, last: str) -> Reply:
    said: dict[str, Any] = {"role": "assistant", "content": None if call else last}
    if call:
        function = {"name": call[1], "arguments": json.dumps(call[2])}
        said["tool_calls"] = [{"index": 0, "id": call[0], "type": "function", "function": function}]
    why = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    answer: dict[str, Any] = {"id": "c1", "created": 1, "model": "stub"}
    piece = {**answer, "object": "chat.completion.chunk"}
    events = [
        ("", {**piece, "choices": [{"index": 0, "delta": said, "finish_reason": None}]}),
        ("", {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]}),
        ("", {**piece, "choices": [], "usage": usage}),
    ]
    whole = {
        **answer,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": why}],
        "usage": usage,
    }
    return events, whole


def _responses(call: Called, last: str) -> Reply:
    item: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "id": "item_1",
        "content": [{"type": "output_text", "text": last, "annotations": []}],
    }
    if call:
        key, name, given = call
        item = {"id": "item_1", "call_id": key, "name": name}
        if isinstance(given, str):
            item |= {"type": "custom_tool_call", "input": given}
        else:
            item |= {"type": "function_call", "arguments": json.dumps(given)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": "r1", "object": "response", "status": "completed", "model": "stub"}
    whole |= {"output": [item], "usage": usage}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {"id": "r1"}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    return [(name, {"type": name, **data}) for name, data in events], whole


def _gemini(call: Called, last: str) -> Reply:
    part: dict[str, Any] = {"text": last}
    if call:
        part = {"functionCall": {"id": call[0], "name": call[1], "args": call[2]}}
    content = {"role": "model", "parts": [part]}
    whole = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "stub",
    }
    return [("", whole)], whole
