"""The API of a model, as far as an agent needs it: answers from a script, and keeps what it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = tuple[str, dict[str, Any]]
"""The end of a tool's name, and its arguments."""


class ModelApi(ThreadingHTTPServer):
    """Anthropic's messages: after each prompt the tools of ``steps`` are called, then it ends."""

    daemon_threads = True

    def __init__(self, steps: Sequence[Step], last: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps, self.last = steps, last
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def model_api(steps: Sequence[Step], last: str) -> Iterator[ModelApi]:
    """A running one."""
    with ModelApi(steps, last) as api:
        thread = threading.Thread(target=api.serve_forever)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()


def results_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What tools answered so far."""
    contents = [message.get("content") for message in request.get("messages", [])]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block.get("type") == "tool_result"]


class _Handler(BaseHTTPRequestHandler):
    server: ModelApi
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = json.loads(raw or b"{}")
        if "count_tokens" in self.path:
            self._say(b'{"input_tokens": 10}', "application/json")
            return
        self.server.requests.append(request)
        names = [str(tool.get("name")) for tool in request.get("tools", [])]
        done, steps = len(results_in(request)), self.server.steps if names else ()
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": self.server.last}
        if done < len(steps):
            end, arguments = steps[done]
            name = next(name for name in names if name.endswith(end))
            block = {"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
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
        stop = {"stop_reason": "tool_use" if done < len(steps) else "end_turn"}
        events = [
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": stop, "usage": {"output_tokens": 1}}),
            ("message_stop", {}),
        ]
        if request.get("stream"):
            lines = (
                f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
                for name, data in events
            )
            self._say("".join(lines).encode(), "text/event-stream")
        else:
            text = {"type": "text", "text": self.server.last}
            whole = {**message, **stop, "content": [text]}
            self._say(json.dumps(whole).encode(), "application/json")

    def _say(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
