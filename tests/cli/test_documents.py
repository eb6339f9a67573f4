"""Run the examples of the documents as they are written: a shell, curl, the command line.

Those of docs/citations.md and the requests of docs/deep-research.md have tests of their own.
What cannot be run here: the set-up of other people's agents, tunnels and hosts (docs/mcp.md), of
which what is JSON or TOML is at least read; and ``worker restart`` with settings.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from standardwebhooks import Webhook

from homes import Home, make
from mem_search.renderers.record_json import SnippetSpan
from mem_search.renderers.universal import (
    CitationMetadata,
    SearchResultItem,
    UniversalSearchResponse,
)
from patience import PATIENCE, until
from source_samples import file_of

DOCS = Path(__file__).parents[2] / "docs"
NOTES = {1: "Rate limit by token bucket.", 7: "The rate limit of the other gateway."}
EXAMPLE = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
CHANGING = re.compile(r"…|\d{4}-\d{2}-\d{2}|\d\.\d(?= MB)")


def blocks(name: str, language: str) -> list[str]:
    text = (DOCS / name).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Records under the numbers that the documents speak of."""
    place = tmp_path_factory.mktemp("documents")
    mem = make(place, MEM_SEARCH_EMBEDDER="hashing", MEM_SEARCH_CHROMA_URL="off")
    lines = [
        json.dumps(
            {
                "kind": "note" if number in NOTES else "observation",
                "source_id": str(number),
                "title": f"Record {number}",
                "text": NOTES.get(number, f"auth, token refresh, number {number}"),
                "created_at": "2026-02-01T00:00:00Z",
                "metadata": {} if number in NOTES else {"type": "bugfix"},
                "tags": ["work"],
            }
        )
        for number in range(1, 44)
    ]
    mem.ok("import", "jsonl", "-", given="\n".join(lines))
    yield mem
    mem.end()


def sh(mem: Home, script: str) -> str:
    """What ``script`` prints; a command or a request that fails fails the test."""
    programs = mem.path.parent / "programs"
    programs.mkdir(exist_ok=True)
    person = Path(mem.environ["HOME"])
    own = person / ".mem-search"
    if not own.exists():
        own.symlink_to(mem.path)
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    for name, command in (
        ("curl", f"{curl} --fail"),
        ("mem-search", f"{sys.executable} -m mem_search"),
    ):
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    environ = {
        **mem.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "W": f"http://127.0.0.1:{mem.worker()['port']}",
        "TOKEN": (mem.path / "token").read_text().strip(),
    }
    done = subprocess.run(
        ["/bin/sh", "-euc", script.replace("W=http://127.0.0.1:37777\n", "")],
        capture_output=True, encoding="utf-8", env=environ, cwd=person, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


def test_every_request_of_the_api_document_is_answered(filled: Home) -> None:
    notes = {"kind": "note", "source_id": "upload", "title": "Uploaded", "text": "By hand."}
    file = Path(filled.environ["HOME"]) / "notes.jsonl"
    file.write_text(json.dumps(notes) + "\n", "utf-8")
    file_of("claude-code", file.parent).rename(file.with_name("session.jsonl"))
    scripts = blocks("api.md", "sh")
    assert sum(script.count("curl ") for script in scripts) == 11
    file.with_name("letter.txt").write_text("About the tax.")
    shown = "".join(sh(filled, script) for script in scripts)
    # What is read later would change what is found later.
    until(lambda: not any(job["state"] in ("queued", "running") for job in jobs(filled)))
    assert all(job["state"] == "done" for job in jobs(filled))
    assert '"deleted":"observation:42"' in shown
    assert '"id":"local:note:7"' in shown
    assert shown.count('"job":"') == 2
    assert len(file.read_text("utf-8").splitlines()) >= len(NOTES)


def jobs(mem: Home) -> list[dict[str, Any]]:
    return list(json.loads(mem.ok("jobs", "--json"))["jobs"])


def test_the_api_document_shows_the_real_error(filled: Home) -> None:
    written: dict[str, Any] = json.loads(blocks("api.md", "json")[1])
    url = f"http://127.0.0.1:{filled.worker()['port']}/api/search/unified?query=a&limt=3"
    with pytest.raises(HTTPError) as refused:
        urlopen(url, timeout=PATIENCE)
    with refused.value:
        told = json.load(refused.value)
    assert told == {**written, "request_id": told["request_id"]}


def test_the_reply_in_the_api_document_has_every_field_and_no_other() -> None:
    (text, _) = blocks("api.md", "json")
    whole = json.loads(text.replace("{…}", "{}"))
    (item,) = whole["items"]
    for written, shape in (
        (whole, UniversalSearchResponse),
        (item, SearchResultItem),
        (item["citation"], CitationMetadata),
    ):
        named = {field.name for field in fields(shape)}
        assert set(written) == named, "show a new field in the reply of docs/api.md"
    assert set(item["snippet_span"]) == {field.name for field in fields(SnippetSpan)} - {"page"}


def test_the_commands_of_the_research_document_work(filled: Home) -> None:
    body = '{"query": "rate limit", "mode": "deep_research", "session_id": "limits"}'
    headers = "-H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'"
    sh(filled, f"curl -s \"$W/api/v1/search\" {headers} -d '{body}'")
    lines = [line for block in blocks("deep-research.md", "sh") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("mem-search ")]
    assert len(commands) == 9
    shown = {}
    for command in commands:
        shown[command] = sh(filled, command)
        if command.startswith("mem-search saved add"):  # the next run has something to tell
            new = {"kind": "note", "source_id": "new", "title": "New", "text": "rate limit"}
            filled.ok("import", "jsonl", "-", given=json.dumps(new))
    assert "New" in shown["mem-search saved inbox"]
    assert "limits" in shown[commands[0]]
    assert "Record 1" in shown["mem-search search 'scope:work rate limit'"]
    exported = Path(filled.environ["HOME"]) / "limits.md"
    assert "# Research session limits" in exported.read_text("utf-8")


def test_the_commands_of_the_security_document_print_what_it_says(filled: Home) -> None:
    first, second = blocks("security.md", "console")
    secret = prints(filled, first)
    sh(filled, f"! curl -s \"$W/api/projects\" -H 'Authorization: Bearer {secret}'")
    again = sh(filled, "mem-search token create ada-laptop --user ada").strip()
    sh(filled, f"curl -s \"$W/api/projects\" -H 'Authorization: Bearer {again}'")
    prints(filled, second)


def prints(mem: Home, block: str) -> str:
    """The first line printed, when every command prints what stands below it."""
    shown = []
    for command, written in EXAMPLE.findall(block):
        said = sh(mem, f"{command} </dev/null")
        parts = CHANGING.split(written)
        assert re.fullmatch(r"\S+".join(re.escape(part) for part in parts), said), (command, said)
        shown.append(said)
    return shown[0].strip()


def test_what_the_webhook_document_verifies_is_verified(filled: Home) -> None:
    (command,) = blocks("webhooks.md", "sh")[:1]
    secret = sh(filled, command).strip()
    (event,) = blocks("webhooks.md", "json")
    body = json.dumps(json.loads(event)).encode()
    now = datetime.now(UTC)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", now, body.decode()),
    }
    (program,) = blocks("webhooks.md", "python")
    names: dict[str, Any] = {"secret": secret, "body": body, "headers": headers}
    exec(program, names)
    assert names["event"]["type"] == "search_job.completed"


def test_the_settings_in_the_mcp_document_are_json_and_toml() -> None:
    written = [json.loads(block) for block in blocks("mcp.md", "json")]
    servers = [each["mcpServers"]["mem-search"] for each in written if "mcpServers" in each]
    (codex,) = blocks("mcp.md", "toml")
    servers.append(tomllib.loads(codex)["mcp_servers"]["mem-search"])
    assert servers == [{"command": "mem-search", "args": ["mcp"]}] * 2
    (opencode,) = [each["mcp"]["mem-search"] for each in written if "mcp" in each]
    assert opencode["command"] == ["mem-search", "mcp"]
