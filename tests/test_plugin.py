"""The plugin keeps the rules that its loaders have, and names only routes that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import mem_search

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


def named_routes() -> list[tuple[str, str]]:
    """(method, path) of each route in the skill; a curl with a body is a POST."""
    found = {
        (match[1] or ("POST" if match[2].endswith("/batch") else "GET"), match[2])
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
