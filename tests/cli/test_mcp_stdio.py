"""``mem-search mcp`` as agents start it: a process that speaks MCP and finds the worker."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from homes import Home
from mcp import Client, StdioServerParameters, stdio_client
from mem_search.daemon.connection import is_locked
from patience import PATIENCE
from standin_worker import Standin, standing_in

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
NOTE = {"kind": "note", "source_id": "n1", "title": "Käse", "text": "Where the cheese is kept."}
STORED = (NOTE,)


def call(name: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def said(process: subprocess.Popen[str], message: dict[str, Any]) -> Any:
    """Send one message and wait for its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_a_client_of_either_era_finds_and_opens_a_record(
    home: Home, era: str, version: str
) -> None:
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "mem_search", "mcp"], env=home.environ
    )
    async with Client(stdio_client(started), mode=era) as mcp:
        assert mcp.protocol_version == version
        assert len((await mcp.list_tools()).tools) <= 7
        found = await mcp.call_tool("search", {"query": "cheese"})
        assert found.structured_content["results"][0]["title"] == "Käse"
        best = found.structured_content["results"][0]["id"]
        fetched = await mcp.call_tool("fetch", {"id": best})
        assert fetched.structured_content["text"] == NOTE["text"]
        read = await mcp.read_resource("mem://note/1")
        assert "Where the cheese is kept." in read.contents[0].text


def test_the_first_message_starts_the_worker_and_it_outlives_the_relay(mem: Home) -> None:
    assert not is_locked(str(mem.path))
    done = mem.run("mcp", given=json.dumps(HELLO) + "\n")
    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "mem-search"
    assert is_locked(str(mem.path))
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 1)


def test_requests_before_the_end_of_the_input_are_answered(home: Home) -> None:
    lines = [HELLO, *(call("search", number, query="cheese") for number in range(1, 20))]
    done = home.run("mcp", given="".join(json.dumps(each) + "\n" for each in lines))
    answers = [json.loads(each) for each in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert all("error" not in answer for answer in answers)
    assert done.returncode == 0


def test_a_restarted_worker_is_found_again(home: Home) -> None:
    with home.popen("mcp") as process:
        assert "result" in said(process, HELLO)
        assert "result" in said(process, call("search", query="cheese"))
        first = home.worker()["instance_id"]
        home.ok("worker", "stop")
        assert said(process, call("search", 2, query="cheese"))["result"]["structuredContent"]
        assert home.worker()["instance_id"] != first
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_a_relay_stores_with_the_token_of_the_worker_that_it_started(mem: Home) -> None:
    with mem.popen("mcp") as process:
        assert "result" in said(process, HELLO)
        reply = said(process, call("remember", title="Oil", text="The lamp burns whale oil."))
        assert reply["result"]["isError"] is False, reply
        # One that is renewed is sent from then on; so is the worker's new place.
        (mem.path / "token").write_text("a-token-of-another-kind-1234567890\n")
        mem.ok("worker", "restart")
        reply = said(process, call("remember", 2, title="Wick", text="It is trimmed at noon."))
        assert reply["result"]["isError"] is False, reply
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("left", ["as it was", "without a key", "cut off", "of another program"])
def test_a_description_that_a_killed_worker_left_leads_to_nobody(mem: Home, left: str) -> None:
    """Another program has the port by now: it is sent nothing, and a worker is started."""
    mem.ok("worker", "start")
    told = mem.worker()
    os.kill(mem.pid(), signal.SIGKILL)
    mem.wait_until_free()
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.setblocking(False)
        told |= {"port": (port := stranger.getsockname()[1]), "url": f"http://127.0.0.1:{port}"}
        fields = {n: v for n, v in told.items() if left != "without a key" or n in ("pid", "url")}
        text = "{}" if left == "of another program" else json.dumps(fields, indent=1)
        (mem.path / "worker.json").write_text(text[: 40 if left == "cut off" else None])
        done = mem.run("mcp", given=json.dumps(HELLO) + "\n")
        assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "mem-search"
        assert done.stderr == ""
        with pytest.raises(BlockingIOError):
            stranger.accept()
    assert mem.worker()["instance_id"] != told["instance_id"]


def test_a_worker_of_an_older_version_is_replaced_when_a_relay_finds_it(mem: Home) -> None:
    with mem.popen("mcp") as process:
        assert "result" in said(process, HELLO)
        first = mem.worker()
        # As a worker of the version before left it, which still runs when the program is upgraded.
        (mem.path / "worker.json").write_text(json.dumps({**first, "version": "0.0.1"}, indent=1))
        done = mem.run("mcp", given=json.dumps(HELLO) + "\n")
        assert "result" in json.loads(done.stdout)
        second = mem.worker()
        assert second["instance_id"] != first["instance_id"]
        assert second["version"] != "0.0.1"
        # The relay that knew the older one goes on with the new one, and stores.
        reply = said(process, call("remember", 2, title="Oil", text="The lamp burns whale oil."))
        assert reply["result"]["isError"] is False, reply
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_a_worker_without_a_key_is_not_believed(mem: Home) -> None:
    """A worker runs, and what describes it is of before keys: the next step is said, and works."""
    mem.ok("worker", "start")
    told = {name: value for name, value in mem.worker().items() if name != "key"}
    (mem.path / "worker.json").write_text(json.dumps(told, indent=1))
    error = json.loads(mem.run("mcp", given=json.dumps(HELLO) + "\n").stdout)["error"]
    assert "run: mem-search worker restart" in error["message"]
    mem.ok("worker", "restart")
    assert "result" in json.loads(mem.run("mcp", given=json.dumps(HELLO) + "\n").stdout)


def test_a_worker_that_cannot_start_is_an_error_and_the_relay_continues(mem: Home) -> None:
    with mem.popen("mcp", MEM_SEARCH_EMBEDDER="no-such-thing") as process:
        for _ in range(2):
            error = said(process, HELLO)["error"]
            assert error["code"] == -32603
            assert "no-such-thing" in error["message"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly(home: Home, number: signal.Signals) -> None:
    with home.popen("mcp") as process:
        assert "result" in said(process, HELLO)
        process.send_signal(number)
        assert process.wait(PATIENCE) == (0 if number is signal.SIGTERM else 130)
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_malformed_line_is_answered_and_the_next_one_too(home: Home) -> None:
    with home.popen("mcp") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("{nonsense\n\n")
        process.stdin.flush()
        refused = json.loads(process.stdout.readline())
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert "result" in said(process, call("search", query="cheese"))
        process.stdin.close()


def test_lines_are_complete_in_whatever_pieces_they_arrive(home: Home) -> None:
    with home.popen("mcp") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        long = json.dumps(call("search", 7, query="cheese " * 20_000))
        for part in (long[:9], long[9:], "\n\n" + json.dumps(call("search", 8, query="cheese"))):
            process.stdin.write(part)
            process.stdin.flush()
        process.stdin.close()  # the last line has no end
        assert {json.loads(line)["id"] for line in process.stdout} == {7, 8}
        assert process.wait(PATIENCE) == 0


class _Server(Standin):
    """A worker that only says which headers it was sent."""

    def do_POST(self) -> None:
        self.given()
        result = {name.lower(): value for name, value in self.headers.items()}
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()
        self.reply(body, Content_Type="application/json")


@pytest.fixture
def fake(mem: Home) -> Iterator[Home]:
    """A home whose worker is the server above."""
    with standing_in(mem.path, _Server):
        yield mem


def test_the_token_of_the_environment_overrides_that_of_the_home(fake: Home) -> None:
    def sent(**environ: str) -> Any:
        done = fake.run("mcp", given=json.dumps(HELLO) + "\n", **environ)
        return json.loads(done.stdout)["result"].get("authorization")

    assert sent() is None
    (fake.path / "token").write_text("of-the-home\n")
    assert sent() == "Bearer of-the-home"
    assert sent(MEM_SEARCH_TOKEN="of-a-user") == "Bearer of-a-user"


def test_the_relay_loads_next_to_nothing() -> None:
    code = (
        "import sys; from mem_search.cli.fast_path import run;"
        "import mem_search.cli.mcp_relay;"
        "heavy = ('typer', 'pydantic', 'aiohttp', 'numpy', 'mcp', 'asyncio', 'subprocess',"
        " 'pathlib', 'dataclasses', 'mem_search.settings');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]"


def test_the_command_is_listed_with_the_others(mem: Home) -> None:
    assert "mcp" in mem.ok("--help")
    assert "standard input" in mem.ok("mcp", "--help")
