"""A new kind is one file and one line: every surface and every generated document has it then."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from documented_source import documented_code
from forked import SOURCE

REPOSITORY = Path(SOURCE).parent
REPORT = """
import json, sys
from mem_search.records import BUILT_IN
BUILT_IN.pop("recipes", None)
last = list(BUILT_IN)[-1]
BUILT_IN |= json.loads(sys.argv[1])
import typer
import blocks
from mem_search.cli.app import app
from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from mem_search.mcp.tool import input_schema
from mem_search.mcp.server import TOOLS
from mem_search.records.registry import installed_kinds

command = typer.main.get_command(app)
print(json.dumps({
    "last": last,
    "routes": [route.path for route in ROUTES],
    "openapi": describe(ROUTES),
    "commands": command.list_commands(typer.Context(command)),
    "documents": [blocks.kinds(), blocks.commands()],
    "mcp": {tool.name: input_schema(tool.arguments) for tool in TOOLS},
    "meant": installed_kinds().named("dish"),
}))
"""


def report(folder: Path, lines: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """What a new process knows that finds packages in ``folder``; ``lines`` are in BUILT_IN."""
    path = os.pathsep.join([SOURCE, str(REPOSITORY / "scripts" / "documentation"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", REPORT, json.dumps(lines)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("door", ["a line in the tree", "an entry point"])
def test_one_file_and_one_line_give_a_kind_its_place_everywhere(door: str, tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(documented_code("The kind ``recipe``"))
    lines = {}
    content = "recipes"
    if door == "an entry point":
        info = tmp_path / "recipes-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recipes\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[mem_search.records]\nrecipes = recipes:Recipe\n")
    else:
        content = "recipes for the kitchen"
        lines["recipes"] = ("recipes:Recipe", content)
    found = report(tmp_path, lines)
    assert "/api/search/recipes" in found["routes"]
    assert found["commands"].index("recipes") == found["commands"].index(found["last"]) + 1
    assert "/api/search/recipes" in found["openapi"]["paths"]
    assert found["meant"] == "recipe"
    kinds, commands = found["documents"]
    assert "| `recipe` | `recipes` | 🍲 Recipe | `servings`, `ingredients` |" in kinds
    assert "- `recipes [WORDS…]" in commands
    assert f"Search {content}." in commands
    searched = found["openapi"]["components"]["schemas"]["UniversalSearchRequest"]["properties"]
    assert "recipe" in json.dumps(searched["content_types"])
    for tool in ("search_local_knowledge", "timeline"):
        assert "recipe" in json.dumps(found["mcp"][tool]["properties"])
