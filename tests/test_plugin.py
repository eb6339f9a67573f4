"""The plugin follows the rules of its loaders, and names only routes that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import mem_search
from patience import PATIENCE

PLUGIN = Path(__file__).parent.parent / "plugin"
SKILL = PLUGIN / "skills" / "mem-search" / "SKILL.md"
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
ROUTE = re.compile(r"(?:\b(GET|POST|DELETE) )?(/api/[a-z0-9/_:.-]*[a-z0-9])")


def skill() -> tuple[dict[str, str], str]:
    """Front matter, one ``key: value`` a line, and the body."""
    opening, front, body = SKILL.read_text("utf-8").split("---\n", 2)
    assert opening == ""
    pairs = (line.partition(": ") for line in front.splitlines())
    return {key: value for key, _, value in pairs}, body


def test_the_marketplace_offers_the_plugin_in_its_version() -> None:
    file = PLUGIN.parent / ".claude-plugin" / "marketplace.json"
    (offered,) = json.loads(file.read_text("utf-8"))["plugins"]
    assert (PLUGIN.parent / offered["source"]).resolve() == PLUGIN.resolve()
    assert (offered["name"], offered["version"]) == (manifest()["name"], manifest()["version"])


def manifest() -> dict[str, object]:
    found = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_the_skill_has_the_name_of_its_directory() -> None:
    name = skill()[0]["name"]
    assert NAME.fullmatch(name)
    assert len(name) <= 64
    assert name == SKILL.parent.name


def test_the_description_says_what_it_does_and_when_to_use_it() -> None:
    description = skill()[0]["description"]
    assert 1 <= len(description) <= 1024
    assert description.startswith("Searches ")
    assert "Use when " in description
    # A colon and a space, or a comment sign, would make YAML read something else.
    assert ": " not in description
    assert " #" not in description


def test_the_skill_is_short() -> None:
    assert len(skill()[1].splitlines()) <= 150


def test_the_manifest_has_the_version_of_the_package() -> None:
    found = manifest()
    assert found["version"] == mem_search.__version__
    assert found["name"] == "mem-search"
    assert NAME.fullmatch(str(found["name"]))
    assert found["$schema"] == "https://anthropic.com/claude-code/plugin.schema.json"
    assert found["license"] == "Apache-2.0"
    assert found["author"] == {"name": "mem-search maintainers"}
    assert found["description"]
    assert found["keywords"]


def started(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The MCP server as an agent starts it that knows nothing but where the plugin lies."""
    config = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert list(config) == ["mem-search"]
    server = config["mem-search"]
    command = [server["command"], *server["args"]]
    return subprocess.run(
        [part.replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN)) for part in command],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def fake(place: Path) -> Path:
    """A ``mem-search`` that says where it lies and what it was asked."""
    place.mkdir(parents=True)
    command = place / "mem-search"
    command.write_text('#!/bin/sh\necho "$0" "$@"\n')
    command.chmod(0o755)
    return command


def test_the_mcp_server_is_the_command_on_the_path_unless_another_is_named(tmp_path: Path) -> None:
    found, named = fake(tmp_path / "bin"), fake(tmp_path / "elsewhere")
    environ = {"PATH": f"{found.parent}:{os.defpath}", "HOME": str(tmp_path)}
    assert started(environ).stdout == f"{found} mcp\n"
    assert started(environ | {"MEM_SEARCH_COMMAND": str(named)}).stdout == f"{named} mcp\n"


def test_the_mcp_server_says_what_is_missing(tmp_path: Path) -> None:
    if (PLUGIN.parent / ".venv" / "bin" / "mem-search").exists():
        pytest.skip("this checkout has a mem-search of its own, which is found")
    done = started({"PATH": os.defpath, "HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (127, "")
    assert "scripts/quickstart" in done.stderr
    home = fake(tmp_path / ".local" / "bin")
    assert started({"PATH": os.defpath, "HOME": str(tmp_path)}).stdout == f"{home} mcp\n"


def named_routes() -> list[tuple[str, str]]:
    """(method, path) of each route in the skill; a curl with a body is a POST."""
    found = {
        (match[1] or ("POST" if match[2].endswith(("/batch", "/check")) else "GET"), match[2])
        for match in ROUTE.finditer(skill()[1])
    }
    return sorted(found)


def test_the_skill_names_routes() -> None:
    assert len(named_routes()) >= 20


@pytest.mark.parametrize(("method", "path"), named_routes())
def test_a_route_that_the_skill_names_exists(method: str, path: str) -> None:
    from mem_search.http.routes import ROUTES

    def matches(pattern: str) -> bool:
        """Whether ``path`` is one that ``/api/records/{ref}`` stands for."""
        parts = re.split(r"(\{[^{}]+\})", pattern)
        regex = "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts)
        return re.fullmatch(regex, path) is not None

    assert any(route.method == method and matches(route.path) for route in ROUTES)
