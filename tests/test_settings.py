"""A setting means the same whoever reads it, by a variable or by the file, with a BOM too."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo

import pytest

from homes import Home, quick
from mem_search import NO_HOME
from mem_search.daemon.connection import token_of
from mem_search.errors import InputError
from mem_search.settings import Settings
from patience import PATIENCE

ZONE = "Pacific/Kiritimati"
"""14 hours ahead of UTC: noon there is another day."""

UNUSUAL: dict[str, object] = {
    "host": "::1", "port": 4000, "token": "of-the-settings", "store": "postgresql://a@b/c",
    "store_owner": "ada", "store_replica": "postgresql://a@d/c", "store_replica_lag": 2.5,
    "redaction_key": "ab" * 32, "embedder": "hashing", "chroma_url": "off", "chroma_token": "c",
    "follow": 3.0, "timezone": ZONE, "allowed_hosts": "a.example,b.example",
    "cors_origins": "https://a.example", "proxy_header": "X-Remote-User",
    "proxy_addresses": "10.0.0.0/8", "log_level": "DEBUG", "log_format": "json",
    "reranker": "onnx:/m", "reranker_key": "k", "reranker_seconds": 1.5, "mailgun_key": "m",
    "sendgrid_key": "s", "enrich": "openai:m", "enrich_key": "k", "enrich_seconds": 3.0,
    "enrich_tokens": 7, "enrich_per_minute": 7, "compress": "openai:m", "compress_key": "k",
    "compress_tokens": 7, "translate": "openai:m", "translate_key": "k", "translate_seconds": 3.0,
    "prepare_seconds": 7, "prepare_memory": 512, "retry_aside": 7, "context_tokens": 7,
    "prompt_context": "off", "connections": 64, "connections_per_address": 32,
    "header_timeout": 7, "idle_timeout": 7, "webhook_allow": "a:1,b:2", "fetch_allow": "a:1,b:2",
    "web_search": "brave", "web_search_key": "k", "web_search_seconds": 1.5,
    "limit_web_searches": 7,
    "smtp": "smtps://ada@mail.example.org", "smtp_from": "ada@example.org",
    "smtp_to": "ada@example.org,bob@example.org", "smtp_password": "p",
    "notion_token": "n", "notion_url": "https://notion.example.org",
    "search_log": False, "clicks": False, "sparse": False, "keep_transcripts": False,
    "read_token": True,
    "neighbours_read": True,
    "network_disk": True,
    "capture_token": True, "photo_places": True, "limit_searches": 7, "limit_research": 7,
    "limit_research_remote": 7, "limit_jobs": 7,
}  # fmt: skip


def test_the_table_has_every_setting() -> None:
    assert set(UNUSUAL) == {each.name for each in fields(Settings)} - {"home"}


@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8], ids=["plain", "bom"])
@pytest.mark.parametrize("name", UNUSUAL)
def test_a_variable_and_the_file_mean_the_same(tmp_path: Path, name: str, bom: bytes) -> None:
    value = UNUSUAL[name]
    needs = {"store": UNUSUAL["store"]} if name == "store_replica" else {}
    given = {**needs, name: value}
    by_variable = Settings.read(
        {"MEM_SEARCH_HOME": str(tmp_path)}
        | {f"MEM_SEARCH_{each.upper()}": str(said) for each, said in given.items()}
    )
    lines = (f"{each} = {json.dumps(said)}\n" for each, said in given.items())
    (tmp_path / "config.toml").write_bytes(bom + "".join(lines).encode())
    by_file = Settings.read({"MEM_SEARCH_HOME": str(tmp_path)})
    assert by_file == by_variable
    assert getattr(by_file, name) != getattr(Settings(home=tmp_path), name)


@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8], ids=["plain", "bom"])
def test_the_token_is_that_of_the_variable_then_the_settings_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bom: bytes
) -> None:
    monkeypatch.delenv("MEM_SEARCH_TOKEN", raising=False)
    assert token_of(str(tmp_path)) == ""
    (tmp_path / "token").write_bytes(bom + b"of-the-file\n")
    assert token_of(str(tmp_path)) == "of-the-file"
    (tmp_path / "config.toml").write_bytes(bom + b'token = "of-the-settings"\n')
    assert token_of(str(tmp_path)) == "of-the-settings"
    monkeypatch.setenv("MEM_SEARCH_TOKEN", "of-the-variable")
    assert token_of(str(tmp_path)) == "of-the-variable"


def test_without_a_home_directory_the_home_has_to_be_named(tmp_path: Path) -> None:
    nobody = {"HOME": NO_HOME}
    with pytest.raises(InputError, match="set MEM_SEARCH_HOME"):
        Settings.read(nobody)
    assert Settings.read({**nobody, "MEM_SEARCH_HOME": str(tmp_path)}).home == tmp_path.resolve()


@pytest.fixture(scope="module", params=["file", "bom"])
def far(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose settings name a zone and a token, with a note that was written just now."""
    home = quick(tmp_path_factory.mktemp("far"))
    home.path.mkdir()
    bom = codecs.BOM_UTF8 if request.param == "bom" else b""
    settings = f'timezone = "{ZONE}"\ntoken = "of-the-settings"\n'
    (home.path / "config.toml").write_bytes(bom + settings.encode())
    home.ok("add", "the lamp burns oil")
    yield home
    home.end()


def said_by_mcp(home: Home, name: str, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.loads(home.run("mcp", given=json.dumps(asked) + "\n").stdout)["result"]


def test_worker_and_command_line_show_the_time_of_the_settings(far: Home) -> None:
    (found,) = json.loads(far.ok("unified", "oil", "--json"))["results"]
    at = datetime.fromisoformat(found["created_at"]).astimezone(ZoneInfo(ZONE))
    shown = f"{at:%b} {at.day}, {at:%I:%M %p}".replace(" 0", " ")
    assert shown in far.ok("unified", "oil")
    request = Request(f"{far.worker()['url']}/api/search/unified?query=oil")
    request.add_header("Accept", "text/plain")
    with urlopen(request, timeout=PATIENCE) as reply:
        assert shown in reply.read().decode()
    assert "the lamp burns oil" in far.ok("day", f"{at:%Y-%m-%d}")


def test_a_setting_with_a_token_lets_every_client_write(far: Home) -> None:
    stored = said_by_mcp(far, "remember", title="Wick", text="It is trimmed at noon.")
    assert stored["isError"] is False, stored
    assert "note" in far.ok("add", "the wick is short")
    assert not (far.path / "token").exists()


@pytest.mark.parametrize(
    ("worker", "client", "terminal", "expected"),
    [
        ("", "", "Asia/Kathmandu", "Asia/Kathmandu"),
        (ZONE, "", "Asia/Kathmandu", ZONE),
        (ZONE, "Europe/Berlin", "Asia/Kathmandu", "Europe/Berlin"),
        ("", "Europe/Berlin", "Asia/Kathmandu", "Europe/Berlin"),
    ],
)
def test_a_clients_variable_comes_first_then_the_workers_setting_then_the_terminal(
    worker: str, client: str, terminal: str, expected: str, tmp_path: Path
) -> None:
    from aiohttp.test_utils import make_mocked_request

    from mem_search.http.core.routing import zone_name

    sent = {"X-Terminal-Timezone": terminal} | ({"X-Timezone": client} if client else {})
    request = make_mocked_request("GET", "/api/search", headers=sent)
    assert zone_name(request, Settings(home=tmp_path, timezone=worker)) == expected
