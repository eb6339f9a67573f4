"""Research, saved searches, scopes and webhooks, as a user runs them."""

from __future__ import annotations

import json
import stat
import urllib.request
from typing import Any

import pytest

from homes import Home
from patience import PATIENCE


def store(mem: Home, **texts: str) -> None:
    lines = [
        {"kind": "note", "source_id": name, "title": name.title(), "text": text}
        for name, text in texts.items()
    ]
    mem.ok("import", "jsonl", "-", given="".join(json.dumps(line) + "\n" for line in lines))


def ask(mem: Home, **body: Any) -> Any:
    """A step of deep research, as an agent takes it over HTTP."""
    token = (mem.path / "token").read_text().strip()
    request = urllib.request.Request(
        f"{mem.worker()['url']}/api/v1/search",
        json.dumps({"mode": "deep_research", "search_type": "keyword", **body}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return json.load(reply)


@pytest.fixture
def filled(mem: Home) -> Home:
    store(mem, auth="All about auth.", keys="Auth and keys.")
    return mem


def test_a_session_is_listed_shown_replayed_and_exported(filled: Home) -> None:
    assert filled.run("research", "list").returncode == 1
    root = ask(filled, query="auth", session_id="my session")["operations"][0]["id"]
    child = ask(filled, query="keys", parent_operation_id=root)["operations"][0]["id"]

    assert filled.ok("research", "list").startswith("my session  2 operations  20")
    steps = filled.ok("research", "list", "--session", "my session").splitlines()
    assert [line.split("  ")[0] for line in steps] == [child, root]
    first, second = filled.ok("research", "show", "my session").splitlines()
    assert first.startswith(f"{root}  search  2 of 2  ")
    assert second.startswith(f"  {child}  refine  1 of 1  ")
    assert "   1  local:note:" in filled.ok("research", "show", root)
    assert json.loads(filled.ok("research", "show", child, "--json"))["parent_operation_id"] == root

    assert f"{root}  identical, same index  auth\n" in filled.ok("research", "replay", "my session")
    store(filled, more="More about auth.")
    drifted = filled.run("research", "replay", root)
    assert drifted.returncode == 1
    assert "different, the index has changed" in drifted.stdout
    assert "  appeared  local:note:3  - -> " in drifted.stdout
    assert "  total     2 -> 3" in drifted.stdout

    text = filled.ok("research", "export", "my session")
    assert text.startswith("# Research session my session\n")
    assert "Keys. (20" in text
    as_json = json.loads(filled.ok("research", "export", "my session", "--format", "json"))
    assert [each["query"] for each in as_json["operations"]] == ["auth", "keys"]

    missing = filled.run("research", "show", "nothing")
    assert (missing.returncode, "no operation" in missing.stderr) == (4, True)
    assert filled.run("research", "forget", "my session").returncode == 2
    assert filled.ok("research", "forget", "my session", "--yes") == (
        "forgot 2 operations of my session\n"
    )
    assert filled.run("research", "list").returncode == 1


def test_a_saved_search_prints_new_results(filled: Home) -> None:
    assert filled.run("saved", "list").returncode == 1
    filled.ok("scope", "add", "mine", "kind:note -tag:draft")
    assert filled.ok("scope", "list") == "scope:mine  kind:note -tag:draft\n"
    line = filled.ok("saved", "add", "news", "auth", "--kind", "note", "--scope", "mine")
    assert line == "news  auth  by hand  inbox\n"
    clock = filled.ok("saved", "add", "clock", "keys", "--every", "90m", "--no-inbox")
    assert clock.startswith("clock  keys  every 90m, next 20")
    assert filled.run("saved", "inbox").returncode == 1

    store(filled, new="New: auth.", other="Other.")
    ran = filled.ok("saved", "run", "news").splitlines()
    assert sorted(line.split("  ")[-1] for line in ran[:-1]) == ["Auth", "Keys", "New"]
    assert [line for line in ran if line.startswith("+")] == ["+ local:note:3  New"]
    assert ran[-1] == "1 new; 3 of 3 results shown"
    told = filled.ok("saved", "inbox", "--keep")
    assert "  news  1 new\n  + local:note:3  New\n" in told
    assert filled.ok("saved", "inbox") == told
    assert filled.run("saved", "inbox").returncode == 1
    assert filled.ok("saved", "inbox", "--all") == told

    assert filled.ok("saved", "list").splitlines()[1].startswith("news  auth  by hand")
    assert filled.ok("saved", "remove", "news") == "removed news\n"
    assert filled.run("saved", "run", "news").returncode == 4
    assert filled.ok("scope", "remove", "mine") == "removed scope:mine\n"
    refused = filled.run("saved", "add", "x", "auth", "--every", "never")
    assert (refused.returncode, "is not an interval" in refused.stderr) == (2, True)
    refused = filled.run("saved", "add", "x", "auth", "--webhook", "http://127.0.0.1:9/")
    assert refused.returncode == 2
    assert "MEM_SEARCH_WEBHOOK_ALLOW=127.0.0.1:9" in refused.stderr


def test_the_webhook_secret_stays_the_same_and_is_its_owner_s(mem: Home) -> None:
    secret = mem.ok("webhook", "secret")
    assert secret.startswith("whsec_")
    assert mem.ok("webhook", "secret") == secret
    file = mem.path / "webhook.secret"
    assert file.read_text() == secret
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
