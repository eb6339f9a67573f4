"""``token`` and ``user`` as the owner runs them, and what a user then sees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from homes import Home, quick
from patience import PATIENCE

NOTE = {"kind": "note", "source_id": "n1", "title": "Tide table", "text": "High water at noon"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with one worker for the tests that do not mind each other's."""
    home = quick(tmp_path_factory.mktemp("access"))
    yield home
    home.end()


def as_user(mem: Home, token: str) -> Home:
    return Home(mem.path, mem.environ | {"MEM_SEARCH_TOKEN": token})


def test_a_user_works_with_their_token_and_sees_their_own_records_only(
    shared: Home, tmp_path: Path
) -> None:
    shared.ok("import", "jsonl", "-", given=json.dumps({**NOTE, "title": "Harbour"}))
    made = shared.run("token", "create", "ada-laptop", "--user", "ada", "--expires", "90d")
    token = made.stdout.strip()
    assert (made.returncode, made.stdout.count("\n"), token[:4]) == (0, 1, "mst_")
    assert "ada-laptop  ada  reads and writes  expires 20" in made.stderr
    assert token not in made.stderr

    ada = as_user(shared, token)
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps(NOTE) + "\n")
    assert ada.ok("import", "jsonl", str(file)).endswith(": 1 new\n")
    assert '"location": "notes.jsonl"' in ada.ok("ledger", "--json")
    for who, title, other in ((ada, "Tide table", "Harbour"), (shared, "Harbour", "Tide table")):
        for command in (("search", "water"), ("search", "water", "--json"), ("get", "note:1")):
            found = who.ok(*command)
            assert title in found
            assert other not in found
    refused = ada.run("sync")
    assert refused.returncode == 6
    assert "only the owner of this machine" in refused.stderr
    assert ada.run("token", "list").returncode == 6

    listed = shared.ok("token", "list")
    assert listed.startswith("ada-laptop  ada  reads and writes  expires 20")
    assert "last used 20" in listed
    assert json.loads(shared.ok("user", "list", "--json"))["users"][0]["tokens"] == ["ada-laptop"]
    assert shared.ok("user", "list").startswith("ada  ")


def test_a_revoked_token_and_a_removed_user_are_refused(mem: Home) -> None:
    token = mem.ok("token", "create", "ada-laptop", "--user", "ada").strip()
    ada = as_user(mem, token)
    ada.ok("import", "jsonl", "-", given=json.dumps(NOTE))
    assert mem.ok("token", "revoke", "ada-laptop") == "revoked ada-laptop\n"
    assert ada.run("search", "water").returncode == 6
    assert mem.run("token", "revoke", "ada-laptop").returncode == 4
    again = as_user(mem, mem.ok("token", "create", "again", "--user", "ada", "--read-only").strip())
    assert again.ok("search", "water").startswith("Found 1 result")
    assert again.run("delete", "note:1", "--yes").returncode == 6

    asked = mem.run("user", "remove", "ada")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert mem.ok("user", "remove", "ada", "--yes") == "removed ada; revoked again\n"
    assert again.run("search", "water").returncode == 6
    listed = mem.run("token", "list")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert "mem-search token create NAME" in listed.stderr
    assert mem.run("user", "list").stderr == "mem-search: no users\n"


def test_where_reading_needs_the_token_commands_and_agents_send_it(
    mem: Home, tmp_path: Path
) -> None:
    """The fast path, the other commands and the relay, each with and without the token."""
    demanding = Home(mem.path, mem.environ | {"MEM_SEARCH_READ_TOKEN": "1"})
    demanding.ok("import", "jsonl", "-", given=json.dumps(NOTE))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "water"}}}  # fmt: skip
    given = json.dumps(call) + "\n"

    def answers(home: Home) -> tuple[int, int, str]:
        return (
            home.run("search", "water").returncode,
            home.run("get", "note:1").returncode,
            home.run("mcp", given=given).stdout,
        )

    found = answers(demanding)
    assert found[:2] == (0, 0)
    assert "Tide table" in found[2]
    reader = as_user(mem, mem.ok("token", "create", "reader", "--read-only").strip())
    assert answers(reader)[:2] == (0, 0)
    wrong = answers(as_user(mem, "mst_" + "x" * 43))
    assert wrong[:2] == (6, 6)
    assert "Tide table" not in wrong[2]
    assert "token" in wrong[2]
    with pytest.raises(HTTPError, match="401") as refused:  # a program that sends none
        urlopen(f"{mem.worker()['url']}/api/search?query=water", timeout=PATIENCE)
    refused.value.close()


def test_an_error_names_the_option(shared: Home) -> None:
    for argv, named in (
        (("a b",), "name"),
        (("a", "--user", "../x"), "user"),
        (("a", "--expires", "soon"), "expires"),
    ):
        refused = shared.run("token", "create", *argv)
        assert refused.returncode == 2
        assert named in refused.stderr


def test_a_user_does_not_start_the_worker_with_their_token(mem: Home) -> None:
    refused = as_user(mem, "mst_" + "x" * 43).run("stats")
    assert refused.returncode != 0
    assert "start the worker without it" in refused.stderr


def test_a_browser_is_logged_in_by_a_link_listed_and_logged_out(shared: Home) -> None:
    def redeemed(*words: str) -> str:
        url = shared.ok("view", "--link", *words).strip()
        address, _, rest = url.partition("/#/login/")
        code, _, place = rest.partition("/")
        assert place == ("search?q=the+pier" if words else "")
        request = Request(
            f"{address}/api/viewer/sessions", json.dumps({"code": code}).encode(),
            {"Content-Type": "application/json", "User-Agent": "Firefox/140.0 Linux"},
        )  # fmt: skip
        assert re.fullmatch(r"http://127\.(?!0\.)[0-9.]+:[0-9]+", address)  # the viewer's own
        with urlopen(request) as reply:
            return str(json.load(reply)["id"])

    assert shared.run("view", "--sessions").stdout == ""
    first, second = redeemed(), redeemed("the", "pier")
    lines = shared.ok("view", "--sessions").splitlines()
    assert {line.split("  ")[0] for line in lines} == {first, second}
    assert all("  Firefox on Linux  since 20" in line for line in lines)
    assert shared.ok("view", "--end", first) == f"logged out {first}\n"
    (left,) = json.loads(shared.ok("view", "--sessions", "--json"))["sessions"]
    assert left["id"] == second
    failed = shared.run("view", "--end", first)
    assert failed.returncode != 0
    assert "mem-search view --sessions" in failed.stderr


def test_a_scope_is_shared_with_a_user_who_reads_it_by_the_share(shared: Home) -> None:
    shared.ok("import", "jsonl", "-", given=json.dumps({**NOTE, "source_id": "s", "tags": ["sea"]}))
    shared.ok("scope", "add", "sea", "tag:sea")
    token = shared.run("token", "create", "cleo-laptop", "--user", "cleo").stdout.strip()
    share = shared.ok("share", "add", "sea", "--with", "cleo").strip()
    assert f"{share}  scope:sea  with cleo" in shared.ok("share", "list")
    cleo = as_user(shared, token)
    assert f"{share}  scope:sea  by the owner" in cleo.ok("share", "list")
    reader = Home(cleo.path, cleo.environ | {"MEM_SEARCH_SHARE": share})
    assert "Tide table" in reader.ok("search", "water")
    assert cleo.run("search", "water").returncode == 1
    assert "limited to the scope sea" in reader.run("stats").stderr
    shared.ok("share", "remove", share)
    assert "nothing is shared with you" in reader.run("search", "water").stderr
    limited = shared.run("token", "create", "guest", "--scope", "sea")
    assert "guest  you  reads scope:sea" in limited.stderr
